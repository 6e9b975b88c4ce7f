import { z } from 'zod'
import { workbenchStateSchema } from '../assistant-services.ts'
import { parseDuration } from '../units.ts'
import { openOperation, operation } from './operation.ts'

const name = z.string().min(1)
const interval = name
  .transform((text) => parseDuration(text) ?? 0)
  .refine((ms) => ms >= 1000, 'expected a duration of at least 1s, such as 30s or 1h')
const lists = { touched_files: true, assumptions: true, risks: true } as const
const task = name.describe('The task, such as task-1')

/** `schedule-…`: of one's own, and for operators of everybody. */
export const schedules = {
  /** Throws `usage`, `skill_not_found`, `limit_reached`, and `forbidden` for a message whose sender is not verified. */
  create: operation(
    'Runs a skill by cron or interval, once per planned time, with the rights of who made the schedule.',
    {
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
    },
  ),
  list: openOperation('Lists your schedules with the next planned time of each (Unix ms).', {}),
  delete: openOperation('Ends a schedule.', { id: name.describe('The schedule, such as schedule-1') }),
}

/** `workbench-…`: writes throw `state_human_touch` (retryable) within 5 s of a person's edit. */
export const workbench = {
  get: openOperation(
    'Reads the state of the work and the task board of this project, with their revisions.',
    {},
  ),
  update: operation(
    'Changes the state of the work. Refused within five seconds of an edit by a person; then read it again.',
    {
      set: workbenchStateSchema
        .partial()
        .default({})
        .describe('Fields to replace: active_task_id, next_action, touched_files, assumptions, risks'),
      add: workbenchStateSchema
        .pick(lists)
        .partial()
        .default({})
        .describe('What to append to the lists, where it is not in them'),
      expect: z.int().min(0).exactOptional().describe('Only if the state still has this revision'),
    },
  ),
}

/** `task-…`: as `workbench-…`. `claim` and `finish` throw `not_found`, and `forbidden` where another has the task. */
export const tasks = {
  /** Throws `usage` for a review without a target. */
  add: openOperation('Puts a task on the board: to build something, or to review something.', {
    kind: z.enum(['build', 'review']).default('build').describe('What kind of task'),
    title: name.describe('What is to be done'),
    acceptance: z
      .array(z.string())
      .default([])
      .describe('build: how to see that it is done, at least one line'),
    target: name.exactOptional().describe('review: what to look at'),
    reviewer: name.exactOptional().describe('review: who should'),
  }),
  claim: openOperation(
    'Takes a task from the board, the oldest open one without an id; null where none is open.',
    {
      id: task.exactOptional(),
      owner: name.exactOptional().describe('Who takes it; default: the caller'),
    },
  ),
  /** The same again changes nothing. */
  finish: openOperation('Ends a task of its owner.', {
    id: task,
    owner: name.exactOptional().describe('Who had taken it; default: the caller'),
    result: z.string().exactOptional().describe('What came of it'),
  }),
}
