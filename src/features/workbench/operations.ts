import { z } from 'zod'
import { closed, name, open, optional } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'
import { workbenchStateSchema } from './records.ts'

/** The flag `--remove`, which removes an item from every list that has it. */
const fromAnyList = {
  type: 'text',
  help: 'items to remove from the lists',
  flag: 'remove',
  several: true,
} as const

const task = name.describe('The task, such as task-1')

/** `workbench-…`: for 5 s after a person's edit, writes throw `state_human_touch` (retryable). */
export const workbench = {
  get: open({}).describe(
    'Reads the state of the work and the task board of this project, with their revisions.',
  ),
  update: closed({
    set: spoken(
      workbenchStateSchema
        .partial()
        .default({})
        .describe('Fields to replace: active_task_id, next_action, touched_files, assumptions, risks'),
      {
        fields: {
          active_task_id: {
            flag: 'active-task',
            type: 'id',
            none: 'none',
            help: 'the active task; `none` for no task',
          },
          next_action: { flag: 'next-action', type: 'text', help: 'the next action' },
        },
      },
    ),
    add: spoken(
      workbenchStateSchema
        .pick({ touched_files: true, assumptions: true, risks: true })
        .partial()
        .default({})
        .describe('Items to add to lists, unless present'),
      {
        fields: {
          touched_files: { flag: 'touched', type: 'file', several: true, help: 'changed files' },
          assumptions: { flag: 'assumption', type: 'text', several: true, help: 'an assumption' },
          risks: { flag: 'risk', type: 'text', several: true, help: 'a risk' },
        },
      },
    ),
    remove: spoken(
      workbenchStateSchema
        .pick({ touched_files: true, assumptions: true, risks: true })
        .partial()
        .default({})
        .describe('Items to remove from lists'),
      { fields: { touched_files: fromAnyList, assumptions: fromAnyList, risks: fromAnyList } },
    ),
    unset: spoken(z.array(name).default([]).describe('Fields to delete; standard fields become empty'), {
      type: 'field',
      several: true,
    }),
    expect: spoken(z.int().min(0).exactOptional().describe('Only if the state is still at this revision'), {
      type: 'revision',
    }),
  }).describe(
    "Changes the state of the work. Refused within five seconds of a person's edit; read it again then.",
  ),
}

/**
 * `task-…`: like `workbench-…`. `claim` and `finish` throw `not_found`, and `forbidden` if someone
 * else has the task.
 */
export const tasks = {
  /** Throws `usage` for a review without a target. */
  add: open({
    kind: z.enum(['build', 'review']).default('build').describe('Kind of task'),
    title: spoken(name.describe('Description'), { words: true }),
    acceptance: spoken(
      z.array(z.string()).default([]).describe('For build: acceptance criteria, at least one'),
      { type: 'line', several: true },
    ),
    target: spoken(optional('For a review: what to look at'), { flag: 'review', type: 'target' }),
    reviewer: spoken(optional('For a review: who should do it'), { type: 'name' }),
  }).describe('Adds a task to the board: to build or to review something.'),
  claim: open({
    id: task.exactOptional(),
    owner: optional('Who takes it; default: the caller'),
  }).describe(
    'Takes a task from the board (default: the oldest open one) and makes it the active task; null if none is open.',
  ),
  /** Repeating it has no effect. */
  finish: open({
    id: task,
    owner: optional('Who had taken it; default: the caller'),
    result: spoken(z.string().exactOptional().describe('Result'), { type: 'text' }),
  }).describe('Finishes a task of its owner.'),
}
