/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comes in: numbered pieces of work. Goes out: their results, in order. Workers may run ahead of
 * the one that takes results by a fixed number only, so that memory does not grow with the work.
 */
#include "cli/files.h"

#include <pthread.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

struct shared {
	const struct pool *pool;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t n, next, taken, window;
	void **slots; /* by number modulo window */
	bool *full;
};

static void *worker(void *argument)
{
	struct shared *s = argument;

	pthread_mutex_lock(&s->lock);
	while (s->next < s->n) {
		if (s->next - s->taken >= s->window) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		uint32_t i = s->next++;

		pthread_mutex_unlock(&s->lock);
		void *result = s->pool->work(s->pool->context, i);

		pthread_mutex_lock(&s->lock);
		s->slots[i % s->window] = result;
		s->full[i % s->window] = true;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void take_all(struct shared *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		pthread_mutex_lock(&s->lock);
		while (!s->full[i % s->window])
			pthread_cond_wait(&s->changed, &s->lock);
		void *result = s->slots[i % s->window];

		s->full[i % s->window] = false;
		pthread_mutex_unlock(&s->lock);
		s->pool->done(s->pool->context, i, result);
		pthread_mutex_lock(&s->lock);
		s->taken++;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
	}
}

static void run_here(const struct pool *pool, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pool->done(pool->context, i, pool->work(pool->context, i));
}

/* The text of each file is as large as the heap of a thread is by then: glibc would give it back behind each and fault
 * it in again for the next, under the lock that all threads share. */
static void keep_memory(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that it takes */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

bool pool_run(const struct pool *pool, uint32_t n, uint32_t threads)
{
	if (threads > n)
		threads = n;
	if (threads <= 1) {
		run_here(pool, n);
		return true;
	}
	keep_memory();
	struct shared s = {.pool = pool, .n = n, .window = 4 * threads};
	pthread_t *ids = calloc(threads, sizeof(*ids));
	uint32_t started = 0;

	s.slots = calloc(s.window, sizeof(*s.slots));
	s.full = calloc(s.window, sizeof(*s.full));
	bool good = ids && s.slots && s.full;

	pthread_mutex_init(&s.lock, NULL);
	pthread_cond_init(&s.changed, NULL);
	while (good && started < threads && pthread_create(&ids[started], NULL, worker, &s) == 0)
		started++;
	if (started)
		take_all(&s);
	else if (good)
		run_here(pool, n);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	pthread_cond_destroy(&s.changed);
	pthread_mutex_destroy(&s.lock);
	free(ids);
	free(s.slots);
	free(s.full);
	return good;
}
