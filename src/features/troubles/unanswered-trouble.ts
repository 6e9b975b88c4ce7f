import type { Trouble } from '../../core/trouble.ts'
import { counted } from '../../lib/counted.ts'
import type { Unanswered } from './readings.ts'
import { firstLine, warning } from './trouble-parts.ts'

/** All people who wait for an answer of a person, as one trouble. */
export function unansweredTroubles(unanswered: Unanswered | undefined): Trouble[] {
  if (!unanswered) return []
  const { count, more, since, from, gateway } = unanswered
  const waiting = counted(count, 'person waits', 'people wait')
  const people = more ? `At least ${waiting}` : waiting
  const name = firstLine(from.name ?? from.address ?? from.id)
  return [
    warning(
      'unanswered',
      {},
      {
        title: `${people} for an answer from a person`,
        text: `${count === 1 ? '' : 'The longest: '}${name}, in ${gateway}. What they wrote was handled without an answer, or has no route.`,
        todo: 'Answer, or settle what needs no answer: in the console, or with `trivium conversation list --for-person`.',
        count,
        since,
      },
    ),
  ]
}
