import { z } from 'zod'
import { delegationSchema } from '../../core/assistant-services.ts'
import { TriviumError } from '../../core/errors.ts'
import { defineSkills, type Skill } from '../../core/skill.ts'

const name = z.string().min(1)
const text = z.string().trim().default('')

/** What people say to the assistant, by the words of `skills/skills.json`, and the work that it hands out. */
export const assistantSkills = defineSkills({
  remember: {
    description: 'Keeps a note for good: "remember the milk". The same text again is another note.',
    args: z.object({ text: text.describe('What to remember') }),
    async run({ args, services, call }) {
      const text = said(args.text, 'Say what to remember: remember the milk.')
      const note = await services.assistant.remember({ text }, call)
      return { text: `Stored note ${note.id}.`, note }
    },
  },
  recall: {
    description: 'Gives the notes that contain each of the words; without words the newest.',
    args: z.object({
      text: text.describe('Words that the notes contain'),
      limit: z.int().min(1).max(1000).default(20).describe('The newest so many'),
    }),
    async run({ args: { text: query, limit }, services, call }) {
      const notes = await services.assistant.recall({ limit, query }, call)
      const lines = notes.map((note) => `${note.id}: ${note.text}`)
      const nothing = query ? `No note contains "${query}".` : 'There are no notes yet.'
      return { text: lines.join('\n') || nothing, notes }
    },
  },
  forget: {
    description: 'Removes a note: "forget memory-1".',
    args: z.object({
      id: name.exactOptional().describe('The note, such as memory-1'),
      text: text.describe('The same, as it comes in a message'),
    }),
    async run({ args, services, call }) {
      const id = said(args.id ?? args.text, 'Say which note: forget memory-1.')
      const note = await services.assistant.forget({ id }, call)
      return { text: `Forgot ${note.id}: ${note.text}`, note }
    },
  },
  'search-notes': {
    description: 'Searches notes and conversations for words; what was found is kept under searches.',
    args: z.object({
      text: text.describe('The words; each matches by its beginning'),
      in: z.string().exactOptional().describe('Only this channel (gateway)'),
      limit: z.int().min(1).max(100).default(10).describe('The best so many'),
    }),
    async run({ args, services, call }) {
      const query = said(args.text, 'Say what to search for: search invoices.')
      const search = await services.assistant.search({ ...args, query }, call)
      const lines = search.results.map((one) => `${one.ref} (${one.channel}): ${shorten(one.text)}`)
      return { text: lines.join('\n') || `Nothing was found for "${query}".`, search }
    },
  },
  'digest-queue': {
    description: 'Queues a digest, for whoever takes work as the worker "digest".',
    args: z.object({ text: text.describe('What the digest is about') }),
    async run({ args, services, call }) {
      const task = args.text || 'what happened since the last digest'
      const digest = await services.assistant.delegate({ kind: 'digest', worker: 'digest', task }, call)
      return { text: `Queued digest ${digest.id}.`, digest }
    },
  },
  delegate: {
    description: 'Gives work to a worker: "delegate to ada: check the invoices".',
    args: z.object({
      text: text.describe('The work; in front of it, with a colon, who does it'),
      worker: name.exactOptional().describe('Who does it; default: whoever works as "worker"'),
    }),
    async run({ args, services, call }) {
      const [, named, rest] = (args.worker === undefined && WORKER_FIRST.exec(args.text)) || []
      const worker = args.worker ?? named ?? 'worker'
      const hint = 'Say what is to be done, and by whom: delegate to ada: check the invoices.'
      const task = said(rest ?? args.text, hint)
      const delegation = await services.assistant.delegate({ kind: 'task', worker, task }, call)
      return { text: `Delegated ${delegation.id} to ${worker}.`, delegation }
    },
  },
  'delegation-list': {
    description: 'Lists the work that you delegated or took, oldest first.',
    args: z.object({
      status: delegationSchema.shape.status.exactOptional().describe('Only those'),
      worker: name.exactOptional().describe('Only of this worker'),
    }),
    run: ({ args, services, call }) => services.assistant.delegations(args, call),
  },
  'delegation-take': {
    description:
      'Takes the oldest queued work of a worker, so that nobody else gets it; null where there is none.',
    args: z.object({
      worker: name.default('worker').describe('Whose work: the name it was delegated to'),
      by: name.exactOptional().describe('Who takes it; default: the caller'),
    }),
    run: ({ args, services, call }) => services.assistant.take(args, call),
  },
  'delegation-accept': {
    description: 'Accepts the result of delegated work, once.',
    args: z.object({
      id: name.describe('The delegation, such as delegation-1'),
      result: z.json().default(null).describe('The result, or why it failed'),
      failed: z.boolean().default(false).describe('true: it could not be done'),
    }),
    run: ({ args, services }) => services.assistant.accept(args),
  },
}).map(answeringSlips)

const WORKER_FIRST = /^(?:to\s+)?([\w.@-]+)\s*:\s*(\S.*)$/s

function said(text: string, hint: string): string {
  if (text === '') throw new TriviumError('usage', { details: hint })
  return text
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length <= 200 ? line : `${line.slice(0, 199)}…`
}

const SLIPS = new Set(['usage', 'not_found', 'limit_reached'])

/** In a chat a slip of who asks gets an answer; a program gets the error. */
function answeringSlips(skill: Skill): Skill {
  return {
    ...skill,
    async run(ctx) {
      try {
        return await skill.run(ctx)
      } catch (error) {
        if (ctx.message && error instanceof TriviumError && SLIPS.has(error.code))
          return { text: error.message }
        throw error
      }
    },
  }
}
