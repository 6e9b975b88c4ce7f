import { z } from 'zod'
import { timeout, ttl } from '../core/arguments.ts'
import { TriviumError } from '../core/errors.ts'
import { defineSkill, type Skill } from '../core/skill.ts'
import { waitFor } from '../lib/wait-for.ts'
import { abortError } from './bounded.ts'
import { storeName } from './operations.ts'

const key = z.string().min(1).describe('The key')
const store = storeName
  .default('file')
  .describe('file: this data directory; memory: this process; shared: all daemons of the same store')

/** Skills for keys and values. */
export const stateSkills: readonly Skill[] = [
  defineSkill({
    name: 'state-get',
    description: 'Returns the value of a key, or null if it has none.',
    args: z.strictObject({
      key,
      withVersion: z
        .boolean()
        .exactOptional()
        .describe('Return `{ value, version }`, for `ifVersion` of state-set (0: absent)'),
      store,
    }),
    async run({ args: { key, store, withVersion }, services }) {
      const entry = await services.state[store].get(key)
      const value = entry?.value ?? null
      return withVersion ? { value, version: entry?.version ?? 0 } : value
    },
  }),
  defineSkill({
    name: 'state-set',
    description: 'Sets the value of a key, and wakes callers that wait for it.',
    args: z.strictObject({
      key,
      value: z.json().describe('The value, as JSON'),
      ttl: ttl.exactOptional().describe('Expires after this many ms'),
      ifVersion: z
        .int()
        .min(0)
        .exactOptional()
        .describe('Write only if the current version is this one (0: absent)'),
      store,
    }),
    async run({ args: { key, value, store, ...options }, services }) {
      const version = await services.state[store].set(key, value, options)
      if (version !== undefined) return { ok: true, version }
      return { ok: false, version: (await services.state[store].get(key))?.version ?? 0 }
    },
  }),
  defineSkill({
    name: 'state-delete',
    description: 'Deletes a key, and returns whether it existed.',
    args: z.strictObject({ key, store }),
    async run({ args: { key, store }, services }) {
      return { ok: true, existed: await services.state[store].delete(key) }
    },
  }),
  defineSkill({
    name: 'state-list',
    description: 'Lists the keys with a prefix.',
    args: z.strictObject({
      prefix: z.string().default('').describe('Only keys with this prefix'),
      limit: z.number().int().min(1).max(100_000).default(10_000).describe('Maximum number of keys'),
      after: z
        .string()
        .exactOptional()
        .describe('Only keys after this one, to read more than `limit` of them'),
      store,
    }),
    async run({ args: { prefix, limit, after, store }, services }) {
      return (await services.state[store].list(prefix, limit, after)).items
    },
  }),
  defineSkill({
    name: 'state-wait',
    description: 'Returns the value of a key as soon as it exists; null at the timeout.',
    args: z.strictObject({
      key,
      timeout,
      store,
    }),
    async run({ args: { key, timeout, store }, services, signal }) {
      const found = await waitFor({
        attempt: async () => {
          const entry = await services.state[store].get(key)
          return entry ? { value: entry.value } : {}
        },
        watch: (wake) => services.state[store].onChange(key, wake),
        timeout,
        signal,
      })
      if (found === undefined && signal.aborted) throw abortError(signal, `Waiting for ${key}`)
      return found ?? null
    },
  }),
]

/** Saves text files, such as a model's table or report. */
export const artifactSave = defineSkill({
  name: 'artifact-save',
  description: 'Saves a text as a file. Files that a model saves are attached to its answer.',
  args: z.strictObject({
    name: z.string().min(1).max(255).describe('The file name, such as report.csv'),
    type: z.string().default('text/plain').describe('The media type'),
    text: z.string().describe('The content'),
  }),
  async run({ args: { name, type, text }, artifacts }) {
    const saved = await artifacts.save(name, type, text)
    return { text: `Saved ${name}, ${saved.size} bytes.`, attachments: [saved] }
  },
})

/** Asks a question in an MCP client. */
export const askPerson = defineSkill({
  name: 'ask-person',
  description:
    'Asks the user of an MCP client a question, and returns the answer; null if they do not answer.',
  args: z.strictObject({
    question: z.string().min(1).max(4_000),
    options: z.array(z.string().min(1)).min(1).max(100).exactOptional().describe('The accepted answers'),
  }),
  async run({ args, call, signal }) {
    if (call.askUser) return (await call.askUser(args, signal)) ?? null
    const reason = call.message
      ? 'in a conversation, reply with the question; the next message is the answer'
      : 'only MCP clients with elicitation can ask their user'
    throw new TriviumError('nobody_to_ask', { why: reason })
  },
})
