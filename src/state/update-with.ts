import { TriviumError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { UpdateOptions } from './document-writer.ts'
import type { StateDocument } from './manager.ts'

/** Updates a document and gives what the mutation made, of the run that counted. Throws what `update` throws. */
export async function updateWith<S extends JsonObject, T>(
  state: StateDocument<S>,
  mutate: (draft: S) => T,
  options: UpdateOptions = {},
): Promise<T> {
  let made: { value: T } | undefined
  const remember = (draft: S): void => {
    made = { value: mutate(draft) }
  }
  await state.update(remember, options)
  if (!made) throw new TriviumError('internal', { reason: 'an update ended without running its mutation' })
  return made.value
}
