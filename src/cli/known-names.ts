import { catalogue, TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { builtInSkills } from '../daemon/built-in-skills.ts'
import { ACTIONS_IN_WORDS } from '../lib/audit-words.ts'
import { didYouMean } from '../lib/nearest.ts'
import { type Environs, loadFor } from './command.ts'

/**
 * The arguments of built-in skills that name something. Skills that act on the named object itself
 * (`route-pause`) check it themselves.
 */
const ARGUMENTS: readonly { skill: RegExp; argument: string; kind: Kind }[] = [
  { skill: /^(message|conversation|send)-|^slack-installs/, argument: 'gateway', kind: 'gateway' },
  { skill: /^message-/, argument: 'transport', kind: 'transport' },
  { skill: /^(message|conversation)-/, argument: 'route', kind: 'route' },
  { skill: /^dead-letter-/, argument: 'queue', kind: 'queue' },
  { skill: /^dead-letter-/, argument: 'group', kind: 'route' },
  { skill: /^dead-letter-/, argument: 'code', kind: 'code' },
  { skill: /^event-groups$/, argument: 'topic', kind: 'topic' },
  {
    skill: /^event-(groups|unread|seek|skip|replay|unsubscribe|ack|extend)$/,
    argument: 'queue',
    kind: 'group',
  },
  { skill: /^cost$/, argument: 'model', kind: 'model' },
  { skill: /^cost$/, argument: 'skill', kind: 'skill' },
  { skill: /^search-notes$/, argument: 'in', kind: 'gateway' },
  { skill: /^audit-list$/, argument: 'action', kind: 'action' },
  { skill: /^audit-list$/, argument: 'without', kind: 'action' },
]

/** The part of a connection that lists names. */
export type NameSource = {
  running: boolean
  invoke(name: string, args: unknown, signal?: AbortSignal): Promise<Json>
  status(): Promise<Json>
  skills(): Promise<Json>
}
type Names = Promise<readonly string[]>

/** How to find the names of a kind. */
type KindOfName = {
  word: string
  /** The command that lists them, if there may be many. */
  listedBy?: string
  /** The names of existing objects. */
  current(source: NameSource, environs: Environs, args: JsonObject): Names
  /** The names of former objects that still have stored data. */
  stored?(source: NameSource, name: string): Names
}

type Kind = keyof typeof KINDS

/** Names are read from routes.yaml without its variables. */
const FOR_STORE = { withoutVariables: 'except-store' } as const
/** The queues of dead letters that always exist. Push subscriptions have one each. */
const QUEUES = ['dispatch', 'receive', 'events', 'outbox', 'subscriptions', 'schedules']
/** The period in which models and skills are looked for in the cost. */
const COST_PERIOD = '365d'

const KINDS = {
  gateway: {
    word: 'gateway',
    current: gatewayNames,
    stored: async (source, name) =>
      nameIfAny(await source.invoke('message-list', { gateway: name, limit: 1 }), name),
  },
  transport: {
    word: 'gateway with the transport',
    current: async (source, environs) => namesIn(await gatewaysOf(source, environs), 'transport'),
    stored: (source, name) => nameIfMessages(source, { transport: name }),
  },
  queue: {
    word: 'queue',
    current: async (source) => [...QUEUES, ...(await subscriptionQueues(source))],
    stored: async (source) => namesIn(await source.invoke('dead-letter-groups', {}), 'queue'),
  },
  route: {
    word: 'route',
    listedBy: 'route list',
    current: async (source, environs) => [
      ...(await routeNames(source, environs)),
      ...(await gatewayNames(source, environs)),
    ],
    stored: async (source, name) => [
      ...namesIn(await source.invoke('dead-letter-groups', {}), 'group'),
      ...(await nameIfMessages(source, { route: name })),
    ],
  },
  code: {
    word: 'error code',
    current: async (source) => namesIn(await source.invoke('dead-letter-groups', {}), 'code'),
    stored: async () => Object.keys(catalogue),
  },
  topic: {
    word: 'consumer group on the topic',
    current: async (source) => namesIn(await source.invoke('event-groups', {}), 'topic'),
  },
  group: {
    word: 'consumer group',
    current: async (source, _environs, { topic }) =>
      namesIn(await source.invoke('event-groups', isText(topic) ? { topic } : {}), 'group'),
  },
  action: {
    word: 'action',
    listedBy: 'audit list',
    current: async (_source, _environs, { action, without }) => [
      ...[action, without].filter(isText).filter((name) => name.includes('*')),
      ...ACTIONS_IN_WORDS,
      ...builtInSkills.map(({ name }) => name),
    ],
    stored: async (source, name) =>
      nameIfAny(pathGet(await source.invoke('audit-list', { action: name, limit: 1 }), 'entries'), name),
  },
  model: { word: 'model', current: (source) => namesInCost(source, 'model') },
  skill: {
    word: 'skill',
    listedBy: 'skill list',
    current: async (source) => namesIn(await source.skills(), 'name'),
    stored: (source) => namesInCost(source, 'skill'),
  },
} satisfies Record<string, KindOfName>

/**
 * Checks the names in the arguments of a built-in skill, so that a typo does not return an empty
 * result. Throws `not_found` with the nearest name. Accepts names that are only in stored data.
 */
export async function requireKnownNames(
  skill: string,
  args: unknown,
  source: NameSource,
  environs: Environs,
): Promise<void> {
  if (!isJsonObject(args)) return
  for (const { skill: pattern, argument, kind } of ARGUMENTS) {
    const name = args[argument]
    if (!isText(name) || !pattern.test(skill)) continue
    await requireName(kind, name, source, environs, args)
  }
}

/** The same for a single name. */
export async function requireName(
  kind: Kind,
  name: string,
  source: NameSource,
  environs: Environs,
  args: JsonObject = {},
): Promise<void> {
  const { word, listedBy, current, stored }: KindOfName = KINDS[kind]
  const currentNames = await current(source, environs, args)
  if (currentNames.includes(name)) return
  const storedNames = (await stored?.(source, name)) ?? []
  if (storedNames.includes(name)) return
  const isTopic = kind === 'group' && (await KINDS.topic.current(source)).includes(name)
  if (isTopic)
    throw new TriviumError('not_found', {
      path: `${word} ${name}`,
      hint: ' It is a topic: the group comes first.',
    })
  const list = listedBy === undefined ? '' : ` \`trivium ${listedBy}\` lists them.`
  const hint = didYouMean(name, [...new Set(currentNames)]) || list
  throw new TriviumError('not_found', { path: `${word} ${name}`, hint })
}

/** Wraps a connection, so that calls first check the names in their arguments. */
export function withNameChecks<C extends NameSource>(connection: C, environs: Environs): C {
  const { invoke } = connection
  /** Repeated calls are checked once. */
  const seen = new Set<string>()
  const checkedInvoke: NameSource['invoke'] = async (name, args, signal) => {
    const call = JSON.stringify([name, args])
    if (!seen.has(call)) await requireKnownNames(name, args, connection, environs)
    seen.add(call)
    return invoke(name, args, signal)
  }
  return { ...connection, invoke: checkedInvoke }
}

async function gatewaysOf(
  source: NameSource,
  environs: Environs,
): Promise<readonly { name: string; transport: string }[]> {
  if (!source.running) return (await loadFor(environs, FOR_STORE)).gateways
  const status = await source.status()
  return ['gateways', 'disabled']
    .flatMap((list) => objectsIn(pathGet(status, list)))
    .map(({ name, transport }) => ({ name: String(name), transport: String(transport) }))
}

/** The gateways of the running daemon, or else of routes.yaml. */
export async function gatewayNames(source: NameSource, environs: Environs): Names {
  return namesIn(await gatewaysOf(source, environs), 'name')
}

async function routeNames(source: NameSource, environs: Environs): Names {
  if (source.running) return namesIn(await source.invoke('route-list', {}), 'name')
  return (await loadFor(environs, FOR_STORE)).routes.map(({ name }) => name)
}

/**
 * The queues of push subscriptions. Unknown without a daemon; `stored` then finds those with dead
 * letters.
 */
async function subscriptionQueues(source: NameSource): Names {
  if (!source.running) return []
  return namesIn(await source.invoke('subscription-list', {}), 'name').map((name) => `push/${name}`)
}

async function namesInCost(source: NameSource, by: 'model' | 'skill'): Names {
  return namesIn(pathGet(await source.invoke('cost', { by, since: COST_PERIOD }), 'rows'), 'name')
}

function namesIn(list: unknown, key: string): string[] {
  return objectsIn(list).map((one) => String(one[key]))
}

/** The name, if the list of what belongs to it is not empty. */
function nameIfAny(list: unknown, name: string): string[] {
  return objectsIn(list).length > 0 ? [name] : []
}

/** The name in a filter, if a message has it. An incomplete search proves nothing. */
async function nameIfMessages(source: NameSource, filter: Record<string, string>): Promise<string[]> {
  const { messages, next } = Object(await source.invoke('message-search', { ...filter, limit: 1 }))
  return objectsIn(messages).length > 0 || next !== undefined ? Object.values(filter) : []
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
