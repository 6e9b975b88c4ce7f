import { z } from 'zod'
import { workbenchUpdateSchema } from '../../core/assistant-services.ts'
import { TriviumError } from '../../core/errors.ts'
import { defineSkills } from '../../core/skill.ts'
import { parseDuration } from '../../core/units.ts'

const name = z.string().min(1)
const nothing = z.object({})
const interval = name
  .transform((text) => parseDuration(text) ?? 0)
  .refine((ms) => ms >= 1000, 'expected a duration of at least 1s, such as 30s or 1h')
const task = name.describe('The task, such as task-1')

/** Schedules and the workbench. */
export const workSkills = defineSkills({
  'schedule-create': {
    description:
      'Runs a skill by cron or interval, once per planned time, with the rights of who made the schedule.',
    args: z.strictObject({
      skill: name.describe('The skill to run'),
      name: name.exactOptional().describe('A name for people; default: that of the skill'),
      cron: name.exactOptional().describe('When, as cron: "0 9 * * 1-5"'),
      every: interval.exactOptional().describe('Or how often: 30s, 15m, 1d'),
      timezone: name.exactOptional().describe('Of the cron expression: Europe/Berlin; default UTC'),
      misfire: z
        .string()
        .default('once')
        .describe('After a pause: skip what was missed, run once, or within: 5m'),
      args: z.record(z.string(), z.json()).default({}).describe('Arguments for the skill'),
    }),
    run: ({ args, services, call }) => services.schedules.create(args, call),
  },
  'schedule-list': {
    description: 'Lists your schedules with the next planned time of each (Unix ms).',
    args: nothing,
    run: ({ services, call }) => services.schedules.list(call),
  },
  'schedule-delete': {
    description: 'Ends a schedule.',
    args: z.object({ id: name.describe('The schedule, such as schedule-1') }),
    run: ({ args, services, call }) => services.schedules.delete(args, call),
  },
  'workbench-get': {
    description: 'Reads the state of the work and the task board of this project, with their revisions.',
    args: nothing,
    run: ({ services }) => services.workbench.get(),
  },
  'workbench-update': {
    description:
      'Changes the state of the work. Refused within five seconds of an edit by a person; then read it again.',
    args: workbenchUpdateSchema,
    run: ({ args, services, call }) => services.workbench.update(args, call),
  },
  'task-add': {
    description: 'Puts a task on the board: to build something, or to review something.',
    args: z.object({
      kind: z.enum(['build', 'review']).default('build').describe('What kind of task'),
      title: name.describe('What is to be done'),
      acceptance: z
        .array(z.string())
        .default([])
        .describe('build: how to see that it is done, at least one line'),
      target: name.exactOptional().describe('review: what to look at'),
      reviewer: name.exactOptional().describe('review: who should'),
    }),
    run({ args: { kind, title, acceptance, target, ...review }, services, call }) {
      if (kind === 'build') return services.workbench.addTask({ kind, title, acceptance }, call)
      if (target === undefined) throw new TriviumError('usage', { details: 'A review needs a target.' })
      return services.workbench.addTask({ kind, title, target, ...review }, call)
    },
  },
  'task-claim': {
    description: 'Takes a task from the board, the oldest open one without an id; null where none is open.',
    args: z.object({
      id: task.exactOptional(),
      owner: name.exactOptional().describe('Who takes it; default: the caller'),
    }),
    run: ({ args, services, call }) => services.workbench.claim(args, call),
  },
  'task-finish': {
    description: 'Ends a task of its owner.',
    args: z.object({
      id: task,
      owner: name.exactOptional().describe('Who had taken it; default: the caller'),
      result: z.string().exactOptional().describe('What came of it'),
    }),
    run: ({ args, services, call }) => services.workbench.finish(args, call),
  },
})
