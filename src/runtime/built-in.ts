import { z } from 'zod'
import { timeout, ttl } from '../core/arguments.ts'
import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import * as operations from '../core/operations.ts'
import type { Services } from '../core/services.ts'
import { defineSkill, type Skill } from '../core/skill.ts'
import { waitFor } from '../lib/wait-for.ts'
import { abortError } from './bounded.ts'
import { createNameMatcher } from './names.ts'

const key = z.string().min(1).describe('The key')
const store = operations.storeName
  .default('file')
  .describe('file: this data directory; memory: this process; shared: all daemons of the same store')

/** Skills for keys and values. */
const stateSkills: readonly Skill[] = [
  defineSkill({
    name: 'state-get',
    description: 'Reads the value of a key; null if there is none.',
    args: z.strictObject({ key, store }),
    run: async ({ args: { key, store }, services }) => (await services.state[store].get(key))?.value ?? null,
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
      store,
    }),
    run: ({ args: { prefix, limit, store }, services }) => services.state[store].list(prefix, limit),
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

/** Skills that a model run may safely repeat after a crash; `gateway-send` deduplicates by its own keys. */
const READS = createNameMatcher(
  '*-list *-show state-get state-wait recall search-notes workbench-get refused gateway-traffic event-groups cost skill-usage slack-installs',
)
const REPEATS = createNameMatcher(
  'state-set state-delete gateway-send event-subscribe event-unsubscribe forget',
)
/** Irreversible skills, for which interfaces ask for confirmation. */
const DESTROYS = createNameMatcher(
  '*-delete *-drop dead-letter-bulk slack-installs-remove event-seek event-unsubscribe callback-release forget approval-decide subscription-replay event-replay person-erase send-cancel run-cancel job-cancel',
)

function annotated(skill: Skill): Skill {
  const { name, metadata } = skill
  const hints = {
    ...(READS.matches(name) && { readOnlyHint: true }),
    ...(REPEATS.matches(name) && { idempotentHint: true }),
    ...(DESTROYS.matches(name) && { destructiveHint: true }),
  }
  return Object.keys(hints).length > 0 ? { ...skill, metadata: { ...metadata, annotations: hints } } : skill
}

/** Saves text files, such as a model's table or report. */
const artifactSave = defineSkill({
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

const askPerson = defineSkill({
  name: 'ask-person',
  description:
    'Asks the user of an MCP client a question, and returns the answer; null if they do not answer.',
  args: z.strictObject({
    question: z.string().min(1).max(4_000),
    options: z.array(z.string().min(1)).min(1).max(100).exactOptional().describe('The accepted answers'),
  }),
  async run({ args, call, signal }) {
    if (call.asks) return (await call.asks(args, signal)) ?? null
    const why = call.message
      ? 'in a conversation, reply with the question; the next message is the answer'
      : 'only MCP clients with elicitation can ask their user'
    throw new TriviumError('nobody_to_ask', { why })
  },
})

/** The methods of `ctx.services` as skills. */
export const builtInSkills: readonly Skill[] = [
  ...skillsOf('event-', operations.events, ({ events }) => events),
  ...skillsOf('gateway-', operations.gateways, ({ gateways }) => gateways),
  ...skillsOf('slack-', operations.installs, ({ gateways }) => gateways),
  ...skillsOf('', operations.refusals, ({ gateways }) => gateways),
  ...skillsOf('send-', operations.sends, ({ sends }) => sends),
  ...skillsOf('', operations.pauses, ({ pauses }) => pauses),
  ...skillsOf('message-', operations.messages, ({ messages }) => messages),
  ...skillsOf('conversation-', operations.conversations, ({ conversations }) => conversations),
  ...stateSkills,
  artifactSave,
  askPerson,
  ...skillsOf('session-', operations.sessions, ({ sessions }) => sessions),
  ...skillsOf('callback-', operations.callbacks, ({ callbacks }) => callbacks),
  ...skillsOf('approval-', operations.approvals, ({ approvals }) => approvals),
  ...skillsOf('dead-letter-', operations.deadLetters, ({ deadLetters }) => deadLetters),
  ...skillsOf('subscription-', operations.subscriptions, ({ subscriptions }) => subscriptions),
  ...skillsOf('audit-', operations.audit, ({ audit }) => audit),
  ...skillsOf('person-', operations.people, ({ people }) => people),
  ...skillsOf('job-', operations.longJobs, ({ longJobs }) => longJobs),
  ...skillsOf('', operations.usage, ({ usage }) => usage),
  ...skillsOf('call-', operations.calls, ({ calls }) => calls),
  ...skillsOf('', operations.assistant, ({ assistant }) => assistant).map(answeringSlips),
  ...skillsOf('delegation-', operations.delegations, ({ delegations }) => delegations).map(answeringSlips),
  ...skillsOf('schedule-', operations.schedules, ({ schedules }) => schedules),
  ...skillsOf('workbench-', operations.workbench, ({ workbench }) => workbench),
  ...skillsOf('task-', operations.tasks, ({ workbench }) => workbench),
].map(annotated)

/** Makes a skill per operation, which calls the service method of the same name. */
function skillsOf<O extends operations.Operations>(
  prefix: string,
  offered: O,
  serviceOf: (services: Services) => operations.ServiceOf<O>,
): Skill[] {
  return Object.entries(offered).map(([method, args]) => ({
    name: prefix + method,
    description: args.description ?? '',
    args,
    run({ args, services, call }) {
      const methods: Methods = serviceOf(services)
      return methods[method]?.(args, call)
    },
  }))
}

/** The arguments have been validated by the operation's schema. */
type Methods = Record<string, { of(args: unknown, call: Call): Promise<unknown> }['of']>

const SLIPS = new Set(['usage', 'not_found', 'limit_reached', 'skill_args_invalid'])

/** In a chat, an error of the user becomes a reply. Programs get the error. */
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
