import { z } from 'zod'
import { closed, limit, name, open, optional } from './arguments.ts'
import { delegationSchema, stepSchema, workbenchStateSchema } from './assistant-services.ts'
import { jsonObjectSchema } from './json.ts'
import { parseDuration } from './units.ts'

const interval = name
  .transform((text) => parseDuration(text) ?? 0)
  .refine((ms) => ms >= 1000, 'expected a duration of at least 1s, such as 30s or 1h')
const task = name.describe('The task, such as task-1')
const text = z.string().trim().default('')

/**
 * The assistant's commands, invoked by the words of `skills/skills.json`. Durable when resolved;
 * `limit_reached` at a limit. Operators reach everything; a person reaches their own data, with `scope: team`
 * that of their gateway; senders without proof reach the notes of the conversation.
 */
export const assistant = {
  remember: open({
    text: text.describe('What to remember'),
  }).describe('Stores a note: "remember the milk". Repeating the text creates another note.'),
  /** Oldest first. */
  recall: open({
    text: text.describe('Words that the notes must contain'),
    limit: limit.default(20).describe('Maximum number, newest first'),
  }).describe('Returns the notes that contain all of the words; without words, the newest notes.'),
  /** Only the caller's own notes. Throws `not_found`. */
  forget: open({
    id: optional('The note, such as memory-1'),
    text: text.describe('The id, as the text of a message'),
  }).describe('Removes a note: "forget memory-1".'),
  'search-notes': open({
    text: text.describe('The words; each matches as a prefix'),
    in: z.string().exactOptional().describe('Only from this channel (gateway)'),
    limit: z.int().min(1).max(100).default(10).describe('Maximum number, best matches first'),
  }).describe('Searches notes and conversations for words, and keeps the search in the list of searches.'),
  /** Without a period in `text`: since the last digest. */
  'digest-now': open({
    text: text.describe('Period and topic: today, of the week, 12h'),
  }).describe(
    'Summarises conversations and events: by the model if one is configured, else by counts and first lines.',
  ),
  delegate: open({
    text: text.describe('The worker, a colon, and the work'),
    worker: optional('A skill, a person, or the name of a worker; default: the worker named "worker"'),
  }).describe(
    'Gives work to a skill, a person or a worker: "delegate to ada: check the invoices". The requester gets the result.',
  ),
  /** For the person who was asked, and for operators. Throws `not_found`. */
  'work-done': open({
    text: text.describe('The delegation and its result: delegation-2: all paid'),
  }).describe('Reports the result of delegated work: "done delegation-2: all paid".'),
  /** Throws like `schedule-create`. */
  'schedule-in-words': open({
    text: text.describe('Time and action: every weekday at 9 digest; list; cancel schedule-1'),
  }).describe('Schedules an action or a reminder in plain words, lists schedules, or cancels one.'),
  remind: open({
    text: text.describe('The text'),
  }).describe('Sends a text: used by schedules in words for reminders.'),
  'assistant-help': open({}).describe('Lists the commands that you can use here.'),
}

/** `delegation-…`: delegated work. */
export const delegations = {
  /** Work that the caller delegated, took, or is the worker of; operators see all. */
  list: open({
    status: delegationSchema.shape.status.exactOptional().describe('Only with this status'),
    worker: optional('Only of this worker'),
  }).describe('Lists work that you delegated or took, oldest first.'),
  take: open({
    worker: name.default('worker').describe('The worker to whom it was delegated'),
    by: optional('Who takes it; default: the caller'),
  }).describe(
    'Takes the oldest queued work of a worker, so that no one else gets it. Returns null if nothing is queued.',
  ),
  /** A repeated call returns the existing result. Throws `not_found`. */
  accept: open({
    id: name.describe('The delegation, such as delegation-1'),
    result: z.json().default(null).describe('The result, or why it failed'),
    failed: z.boolean().default(false).describe('true if the work failed'),
  }).describe('Accepts the result of delegated work, once.'),
}

const schedule = name.describe('The schedule: schedule-1, or its name in routes.yaml')

/**
 * `schedule-…`: the caller's own schedules; operators reach all. All but `create` and `list` throw
 * `not_found`.
 */
export const schedules = {
  /** Throws `usage`, `skill_not_found`, `skill_args_invalid`, `limit_reached`, and `forbidden` for a message whose sender is not verified. */
  create: closed({
    skill: name.describe('The skill to run'),
    name: optional('A name for people; default: that of the skill'),
    cron: optional('Cron expression, such as "0 9 * * 1-5"; several are separated by " | "'),
    step: stepSchema.exactOptional().describe('Only every nth day, week or month of the cron: 2 weeks'),
    every: interval.exactOptional().describe('Interval: 30s, 15m, 1d'),
    at: optional('A single time: 2026-12-24T18:00, in `timezone` unless it has an offset'),
    timezone: optional('Time zone of cron and at, such as Europe/Berlin; default UTC'),
    overlap: z
      .enum(['queue', 'skip', 'allow'])
      .exactOptional()
      .describe('If a run is due while the previous one still runs: queue (default), skip, or allow both'),
    misfire: z
      .string()
      .default('once')
      .describe(
        'Runs missed while no daemon was running: skip, run the newest late (once), or only within: 5m',
      ),
    args: jsonObjectSchema.default({}).describe('Arguments for the skill'),
  }).describe('Runs a skill by cron or interval, once per planned time, with the rights of its creator.'),
  list: open({}).describe('Lists your schedules with the next planned time of each (Unix ms).'),
  show: open({ id: schedule }).describe('Shows one schedule with its next planned time (Unix ms).'),
  /** Throws `usage` for a schedule of routes.yaml. */
  delete: open({ id: name.describe('The schedule, such as schedule-1') }).describe('Deletes a schedule.'),
  run: open({
    id: schedule,
    key: optional('Idempotency key: runs once per key'),
  }).describe('Runs a schedule now, in addition to its planned times, even if it is paused.'),
  pause: open({ id: schedule }).describe('Pauses a schedule: planned times are skipped.'),
  resume: open({ id: schedule }).describe(
    'Resumes a schedule from its next planned time; skipped runs are not made up.',
  ),
}

/** `workbench-…`: writes throw `state_human_touch` (retryable) within 5 s of a person's edit. */
export const workbench = {
  get: open({}).describe(
    'Reads the state of the work and the task board of this project, with their revisions.',
  ),
  update: closed({
    set: workbenchStateSchema
      .partial()
      .default({})
      .describe('Fields to replace: active_task_id, next_action, touched_files, assumptions, risks'),
    add: workbenchStateSchema
      .pick({ touched_files: true, assumptions: true, risks: true })
      .partial()
      .default({})
      .describe('Items to add to lists, unless present'),
    remove: workbenchStateSchema
      .pick({ touched_files: true, assumptions: true, risks: true })
      .partial()
      .default({})
      .describe('Items to remove from lists'),
    unset: z.array(name).default([]).describe('Fields to delete; standard fields become empty'),
    expect: z.int().min(0).exactOptional().describe('Only if the state is still at this revision'),
  }).describe(
    "Changes the state of the work. Refused within five seconds of a person's edit; read it again then.",
  ),
}

/**
 * `task-…`: like `workbench-…`. `claim` and `finish` throw `not_found`, and `forbidden` if someone else has
 * the task.
 */
export const tasks = {
  /** Throws `usage` for a review without a target. */
  add: open({
    kind: z.enum(['build', 'review']).default('build').describe('Kind of task'),
    title: name.describe('Description'),
    acceptance: z.array(z.string()).default([]).describe('For build: acceptance criteria, at least one'),
    target: optional('review: what to look at'),
    reviewer: optional('review: who should do it'),
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
    result: z.string().exactOptional().describe('Result'),
  }).describe('Finishes a task of its owner.'),
}
