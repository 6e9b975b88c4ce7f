import type { Outcome } from '../../core/message-query.ts'
import type { Journal } from '../../core/store.ts'
import { inBatches } from './batches.ts'
import type { Server } from './scripts.ts'

/** What is known of messages beside their content. `routes` and `errors`: an empty text if there is none. */
export type Lookup = Pick<Journal, 'outcomes'> & {
  routes(ids: readonly string[]): Promise<string[]>
  attempts(ids: readonly string[]): Promise<number[]>
  errors(ids: readonly string[]): Promise<string[]>
}

/** Looks up the outcomes, routes and attempts of messages of one shard. */
export function createLookup({ run, places, roots: { main } }: Server): Lookup {
  return {
    outcomes: async (ids) => {
      const answers = await inBatches(
        ids.map((id) => [id, ...(places.partsOf(id) ?? [0, 0, 0])]),
        (batch) => run<(Outcome | '')[]>('outcomes', main, ...batch.flat()),
      )
      return answers.map((answer) => answer || undefined)
    },
    routes: (ids) =>
      inBatches(
        ids.map((id) => [id, places.placeOf(id) ?? 0]),
        (batch) => run<string[]>('routes', main, ...batch.flat()),
      ),
    attempts: (ids) =>
      inBatches(
        ids.map((id) => [places.placeOf(id) ?? 0]),
        (batch) => run<number[]>('attempts', main, ...batch.flat()),
      ),
    errors: (ids) =>
      inBatches(
        ids.map((id) => [places.placeOf(id) ?? 0]),
        (batch) => run<string[]>('errors', main, ...batch.flat()),
      ),
  }
}
