import { z } from 'zod'
import { optional, time } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'

/** A part of a topic. Bounds are optional; all given bounds apply. */
const eventRange = {
  since: time.exactOptional().describe('Only events since a time, or an age such as 2h'),
  until: time.exactOptional().describe('Only events before a time, or older than an age such as 2h'),
  from: spoken(optional('The first event, by its id; for messages the id of the message'), { id: 'event' }),
  to: spoken(optional('The last event, by its id'), { id: 'event' }),
}

/** The arguments of a replay besides its receiver. */
export const replayArguments = {
  ...eventRange,
  dryRun: z
    .boolean()
    .default(false)
    .describe(
      'Only count: `redelivered` come again, `unread` come anyway, `filtered` do not match. `more`: count was cut',
    ),
}
