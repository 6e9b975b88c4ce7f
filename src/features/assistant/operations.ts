import { z } from 'zod'
import { limit, name, open, optional } from '../../core/arguments.ts'
import { delegationSchema } from './records.ts'

const text = z.string().trim().default('')

/**
 * The assistant's skills, invoked by the words of `skills/skills.json`. Changes are durable when a
 * skill resolves. Throws `limit_reached` at a limit. Operators see everything. People see their own
 * data, or with `scope: team` that of their gateway. Unverified senders see the notes of the
 * conversation.
 */
export const assistant = {
  remember: open({
    text: text.describe('What to remember'),
  }).describe('Stores a note: "remember the milk". Repeating the text creates another note.'),
  /** Oldest first. */
  recall: open({
    text: text.describe('Words that the notes must contain'),
    limit: limit.default(20).describe('Maximum number; the newest are returned'),
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
