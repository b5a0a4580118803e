"use strict";
const kernels = document.querySelectorAll("details.kernel");
function fill(details) {
	const store = details.querySelector("template");
	if (store) { details.querySelector(".body").append(store.content); store.remove(); }
}
kernels.forEach(d => d.addEventListener("toggle", () => { if (d.open) fill(d); }));
function go() {
	const id = decodeURIComponent(location.hash.slice(1));
	if (!id) return;
	const at = id.lastIndexOf("L"), file = id.slice(0, at), line = Number(id.slice(at + 1));
	for (const d of kernels)
		if (d.id === id || (d.dataset.file === file && line >= d.dataset.first && line <= d.dataset.last)) { d.open = true; fill(d); break; }
	const to = document.getElementById(id);
	if (to) to.scrollIntoView({ block: "center" });
}
addEventListener("hashchange", go);
go();
const find = document.getElementById("find"), rows = document.querySelectorAll("#kernels tbody tr");
find.addEventListener("input", () => {
	const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
	let shown = 0;
	rows.forEach(row => {
		const text = row.dataset.text.toLowerCase(), on = words.every(w => text.includes(w));
		row.hidden = !on; shown += on;
		const d = document.getElementById(row.dataset.kernel);
		if (d) d.hidden = !on;
	});
	document.getElementById("shown").textContent = shown + " of " + rows.length + " kernels";
});
document.addEventListener("mouseover", event => {
	document.querySelectorAll(".lit").forEach(e => e.classList.remove("lit"));
	const edge = event.target.closest("[data-e]");
	if (!edge) return;
	for (const id of edge.dataset.e.split(" ")) { const e = document.getElementById(id); if (e) e.classList.add("lit"); }
});
