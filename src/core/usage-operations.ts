import { z } from 'zod'
import { closed, optional, time } from './arguments.ts'

/** What models cost, and how skills do: `cost` and `skill-usage`. */
export const usage = {
  cost: closed({
    by: z.enum(['model', 'skill', 'sender', 'day']).default('model').describe('What to add up by'),
    since: time.exactOptional().describe('From the day of this time on, or so long ago: 30d; default: 7d'),
    until: time.exactOptional().describe('Up to the day of this time'),
    model: optional('Only this model'),
    skill: optional('Only this skill'),
    sender: optional('Only this sender'),
  }).describe('Adds up the tokens and the money that models used, in days of UTC, with the budgets.'),
  'skill-usage': closed({
    name: optional('One skill, with its last runs; without it all skills that ran'),
  }).describe('Shows how skills do over the last seven days: runs, errors, p95, cost, and who calls them.'),
}
