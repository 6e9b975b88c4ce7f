import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'
import { formatDuration, parseDuration } from '../../src/core/units.ts'

const SHORTEST = 1_000

export default defineSkill({
  name: 'schedule-create',
  description:
    'Runs a skill by cron or interval, once per planned time, with the rights of who made the schedule.',
  args: z.strictObject({
    skill: z.string().min(1).describe('The skill to run'),
    name: z.string().min(1).exactOptional().describe('A name for people; default: that of the skill'),
    cron: z.string().min(1).exactOptional().describe('When, as cron: "0 9 * * 1-5"'),
    every: z.string().min(1).exactOptional().describe('Or how often: 30s, 15m, 1d'),
    timezone: z
      .string()
      .min(1)
      .exactOptional()
      .describe('Of the cron expression: Europe/Berlin; default UTC'),
    misfire: z
      .string()
      .default('once')
      .describe('After a pause: skip what was missed, run once, or within: 5m'),
    args: z.record(z.string(), z.json()).default({}).describe('Arguments for the skill'),
  }),
  run: ({ args: { every, ...rest }, services, call }) =>
    services.schedules.create({ ...rest, ...(every !== undefined && { every: interval(every) }) }, call),
})

function interval(text: string): number {
  const ms = parseDuration(text)
  if (ms !== undefined && ms >= SHORTEST) return ms
  const details = `every is a duration of at least ${formatDuration(SHORTEST)}, such as 30s or 1h, not "${text}".`
  throw new TriviumError('usage', { details })
}
