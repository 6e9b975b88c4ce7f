import { z } from 'zod'
import { closed, optional, time } from '../../core/arguments.ts'

/** Usage of models and skills: `cost` and `skill-usage`. */
export const usage = {
  cost: closed({
    by: z
      .enum(['model', 'skill', 'sender', 'gateway', 'day', 'time'])
      .default('model')
      .describe('Grouping; time: steps of 5 minutes up to 3 hours, of an hour up to 2 days, else days'),
    split: z
      .enum(['model', 'skill', 'sender', 'gateway'])
      .exactOptional()
      .describe('Splits each row into the 5 of these that cost most, and the others'),
    since: time
      .exactOptional()
      .describe(
        'From this time, or an age such as 30d; default: 7d, today and 6 days before. Exact to 5 minutes within the last 2 days, else to days (UTC)',
      ),
    until: time.exactOptional().describe('Up to this time, or an age such as 2h'),
    model: optional('Only this model'),
    skill: optional('Only this skill'),
    sender: optional('Only this sender'),
    gateway: optional('Only senders of this gateway'),
    compare: z
      .boolean()
      .exactOptional()
      .describe('Compares with the time before; days only when they are over'),
  }).describe('Sums up tokens and cost of models, with the budgets.'),
  'skill-usage': closed({
    name: optional('One skill, with its last runs; without it all skills that ran'),
    since: time
      .exactOptional()
      .describe(
        'From this time, or an age; default: 7d. Exact to 5 minutes within the last day, else to days',
      ),
    until: time.exactOptional().describe('Up to this time, or an age such as 2h'),
    outcome: z
      .enum(['done', 'failed', 'cancelled', 'ok'])
      .transform((outcome) => (outcome === 'done' ? 'ok' : outcome))
      .exactOptional()
      .describe('With a name: only last runs that ended like this; ok is another word for done'),
    error: optional('With a name: only last runs that failed with this `pattern` of `errors`'),
    by: optional('With a name: only last runs of this caller, a `by` of `callers` such as `route orders`'),
    limit: z
      .int()
      .min(1)
      .max(200)
      .default(30)
      .describe('With a name: maximum number of its last runs; 100 are kept, and 200 failed ones'),
  }).describe(
    'Shows statistics of skills, of the last seven days by default: runs, errors, p95, cost and callers.',
  ),
}
