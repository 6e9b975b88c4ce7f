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
 * What people say to the assistant, by the words of `skills/skills.json`; durable when it resolves, `limit_reached` at a bound. Operators
 * reach everything; a person their own, with `scope: team` that of their gateway; without proof, the notes of the conversation.
 */
export const assistant = {
  remember: open({
    text: text.describe('What to remember'),
  }).describe('Keeps a note: "remember the milk". The same text again is another note.'),
  /** Oldest first. */
  recall: open({
    text: text.describe('Words that the notes contain'),
    limit: limit.default(20).describe('The newest so many'),
  }).describe('Gives the notes that contain each of the words; without words the newest.'),
  /** One's own. Throws `not_found`. */
  forget: open({
    id: optional('The note, such as memory-1'),
    text: text.describe('The same, as it comes in a message'),
  }).describe('Removes a note: "forget memory-1".'),
  'search-notes': open({
    text: text.describe('The words; each matches by its beginning'),
    in: z.string().exactOptional().describe('Only this channel (gateway)'),
    limit: z.int().min(1).max(100).default(10).describe('The best so many'),
  }).describe('Searches notes and conversations for words; what was found is kept under searches.'),
  /** Without a time in `text`: since the last one. */
  'digest-now': open({
    text: text.describe('Since when, and what about: today, of the week, 12h'),
  }).describe(
    'Sums up what was said and done: by the model where there is one, else by counts and first lines.',
  ),
  delegate: open({
    text: text.describe('The work; in front of it, with a colon, who does it'),
    worker: optional('A skill, a person, or the name of a worker; default: whoever works as "worker"'),
  }).describe(
    'Has a skill do work, asks a person, or queues it for a worker: "delegate to ada: check the invoices". Who asked gets the result.',
  ),
  /** Of whom was asked, and of operators. Throws `not_found`. */
  'work-done': open({
    text: text.describe('Which work, and what came of it: delegation-2: all paid'),
  }).describe('Hands in what came of work: "done delegation-2: all paid".'),
  /** Throws as `schedule-create`. */
  'schedule-in-words': open({
    text: text.describe('When, then what: every weekday at 9 digest; list; cancel schedule-1'),
  }).describe('Plans in plain words what is to be done or said later, lists that, or cancels it.'),
  remind: open({
    text: text.describe('What is said'),
  }).describe('Says something again: what a schedule in words runs for words that are no skill.'),
  'assistant-help': open({}).describe('Lists the words that the assistant understands from you here.'),
}

/** `delegation-…`: the work that the assistant hands out. */
export const delegations = {
  /** What one gave or took, or is the worker of; of everybody for operators. */
  list: open({
    status: delegationSchema.shape.status.exactOptional().describe('Only those'),
    worker: optional('Only of this worker'),
  }).describe('Lists the work that you delegated or took, oldest first.'),
  take: open({
    worker: name.default('worker').describe('Whose work: the name it was delegated to'),
    by: optional('Who takes it; default: the caller'),
  }).describe(
    'Takes the oldest queued work of a worker, so that nobody else gets it; null where there is none.',
  ),
  /** A repeated one returns what stands. Throws `not_found`. */
  accept: open({
    id: name.describe('The delegation, such as delegation-1'),
    result: z.json().default(null).describe('The result, or why it failed'),
    failed: z.boolean().default(false).describe('true: it could not be done'),
  }).describe('Accepts the result of delegated work, once.'),
}

const schedule = name.describe('The schedule: schedule-1, or its name in routes.yaml')

/** `schedule-…`: of one's own, and for operators of everybody. All but `create` and `list` throw `not_found`. */
export const schedules = {
  /** Throws `usage`, `skill_not_found`, `skill_args_invalid`, `limit_reached`, and `forbidden` for a message whose sender is not verified. */
  create: closed({
    skill: name.describe('The skill to run'),
    name: optional('A name for people; default: that of the skill'),
    cron: optional('When, as cron: "0 9 * * 1-5"; several with " | " between them'),
    step: stepSchema
      .exactOptional()
      .describe('Of the times of the cron only each so many days, weeks or months: 2 weeks'),
    every: interval.exactOptional().describe('Or how often: 30s, 15m, 1d'),
    at: optional('Or once: 2026-12-24T18:00, in `timezone` unless it names an offset'),
    timezone: optional('Of cron and at: Europe/Berlin; default UTC'),
    overlap: z
      .enum(['queue', 'skip', 'allow'])
      .exactOptional()
      .describe('When a run is due while the last one still works: queue (the default), skip, or allow both'),
    misfire: z
      .string()
      .default('once')
      .describe('Times at which no daemon ran: skip them, run the newest late (once), or only within: 5m'),
    args: jsonObjectSchema.default({}).describe('Arguments for the skill'),
  }).describe(
    'Runs a skill by cron or interval, once per planned time, with the rights of who made the schedule.',
  ),
  list: open({}).describe('Lists your schedules with the next planned time of each (Unix ms).'),
  /** Throws `usage` for a schedule of routes.yaml. */
  delete: open({ id: name.describe('The schedule, such as schedule-1') }).describe('Ends a schedule.'),
  run: open({
    id: schedule,
    key: optional('The same key runs it once'),
  }).describe('Runs a schedule now, besides its planned times, also while it is paused.'),
  pause: open({ id: schedule }).describe('Pauses a schedule: its planned times pass without a run.'),
  resume: open({ id: schedule }).describe(
    'Lets a paused schedule run again, from its next planned time on; what passed meanwhile is gone.',
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
      .describe('What to append to the lists, where it is not in them'),
    remove: workbenchStateSchema
      .pick({ touched_files: true, assumptions: true, risks: true })
      .partial()
      .default({})
      .describe('What to take out of the lists'),
    unset: z.array(name).default([]).describe('Fields to delete; those that every state has become empty'),
    expect: z.int().min(0).exactOptional().describe('Only if the state still has this revision'),
  }).describe(
    'Changes the state of the work. Refused within five seconds of an edit by a person; then read it again.',
  ),
}

/** `task-…`: as `workbench-…`. `claim` and `finish` throw `not_found`, and `forbidden` where another has the task. */
export const tasks = {
  /** Throws `usage` for a review without a target. */
  add: open({
    kind: z.enum(['build', 'review']).default('build').describe('What kind of task'),
    title: name.describe('What is to be done'),
    acceptance: z
      .array(z.string())
      .default([])
      .describe('build: how to see that it is done, at least one line'),
    target: optional('review: what to look at'),
    reviewer: optional('review: who should'),
  }).describe('Puts a task on the board: to build something, or to review something.'),
  claim: open({
    id: task.exactOptional(),
    owner: optional('Who takes it; default: the caller'),
  }).describe(
    'Takes a task from the board, the oldest open one without an id, which is then the active one; null where none is open.',
  ),
  /** The same again changes nothing. */
  finish: open({
    id: task,
    owner: optional('Who had taken it; default: the caller'),
    result: z.string().exactOptional().describe('What came of it'),
  }).describe('Ends a task of its owner.'),
}
