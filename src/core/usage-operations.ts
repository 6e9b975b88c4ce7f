import { z } from 'zod'
import { closed, optional, time } from './arguments.ts'

/** What models cost, and how skills do: `cost` and `skill-usage`. */
export const usage = {
  cost: closed({
    by: z.enum(['model', 'skill', 'sender', 'day']).default('model').describe('Grouping'),
    since: time.exactOptional().describe('From the day of this time, or an age such as 30d; default: 7d'),
    until: time.exactOptional().describe('Up to the day of this time'),
    model: optional('Only this model'),
    skill: optional('Only this skill'),
    sender: optional('Only this sender'),
  }).describe('Sums up tokens and cost of models per UTC day, with the budgets.'),
  'skill-usage': closed({
    name: optional('One skill, with its last runs; without it all skills that ran'),
  }).describe('Shows statistics of skills for the last seven days: runs, errors, p95, cost and callers.'),
}
