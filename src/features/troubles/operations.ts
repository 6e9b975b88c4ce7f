import { closed, name, optional, pauseEnd } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'

const id = spoken(name.describe('The id of the trouble, as in the list of troubles'), { id: 'trouble' })

/** `trouble-…`. Throw `not_found`: nothing is wrong under this id now. */
export const troubles = {
  acknowledge: closed({
    id,
    for: pauseEnd,
    reason: optional('What you do about it, shown to others'),
  }).describe(
    'Tells everybody that you take care of a trouble. It counts again when it gets worse, and is forgotten when it ends.',
  ),
  release: closed({ id }).describe('Takes back an acknowledgement: the trouble counts again.'),
}
