import { z } from 'zod'
import { name, time } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'
import { looksLikeTime } from '../../core/units.ts'

/** A part of a topic. Bounds are optional; all given bounds apply. */
const eventRange = {
  since: time.exactOptional().describe('Only events since a time, or an age such as 2h'),
  until: time.exactOptional().describe('Only events before a time, or older than an age such as 2h'),
  from: idOf('The first event, by its id; for messages the id of the message', 'since'),
  to: idOf('The last event, by its id', 'until'),
}

/** A time, compared with ids, would select nothing or everything. `forTime`: what takes one. */
function idOf(what: string, forTime: string) {
  const id = name.refine((text) => !looksLikeTime(text), `expected an id; for a time use \`${forTime}\``)
  return spoken(id.exactOptional().describe(what), { id: 'event' })
}

/** The arguments of a replay besides its receiver. */
export const replayArguments = {
  ...eventRange,
  withdrawn: spoken(
    name
      .exactOptional()
      .describe('Only events that a cancelled replay withdrew, and no later one has: its job'),
    { id: 'job' },
  ),
  dryRun: z
    .boolean()
    .default(false)
    .describe(
      'Only count. In JSON: `redelivered` come again, `unread` come anyway, `filtered` do not match; with `more`, there are further ones',
    ),
}
