import { catalogue, TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import { didYouMean } from '../lib/nearest.ts'
import { type Environs, loadFor } from './command.ts'

/**
 * The arguments of built-in skills that name something. Skills that act on the named object itself
 * (`route-pause`) check it themselves.
 */
const ARGUMENTS: readonly { skill: RegExp; argument: string; kind: Kind }[] = [
  { skill: /^(message|conversation|send)-|^slack-installs/, argument: 'gateway', kind: 'gateway' },
  { skill: /^message-/, argument: 'transport', kind: 'transport' },
  { skill: /^dead-letter-/, argument: 'queue', kind: 'queue' },
  { skill: /^dead-letter-/, argument: 'group', kind: 'route' },
  { skill: /^dead-letter-/, argument: 'code', kind: 'code' },
  { skill: /^event-groups$/, argument: 'topic', kind: 'topic' },
  { skill: /^event-(groups|seek|replay|unsubscribe|ack|extend)$/, argument: 'queue', kind: 'group' },
  { skill: /^cost$/, argument: 'model', kind: 'model' },
  { skill: /^cost$/, argument: 'skill', kind: 'skill' },
  { skill: /^search-notes$/, argument: 'in', kind: 'gateway' },
]

/** The part of a connection that this needs. */
type Asked = {
  running: boolean
  invoke(name: string, args: unknown, signal?: AbortSignal): Promise<Json>
  status(): Promise<Json>
  skills(): Promise<Json>
}
type Names = Promise<readonly string[]>

/** `now`: existing names. `kept`: names that are no longer in routes.yaml, but still have stored data. */
type Source = {
  word: string
  /** The command that lists them, if there may be many. */
  listedBy?: string
  now(asked: Asked, environs: Environs, args: JsonObject): Names
  kept?(asked: Asked, name: string): Names
}

type Kind = keyof typeof SOURCES

const QUEUES = ['dispatch', 'receive', 'events', 'outbox', 'subscriptions', 'schedules']
const LONG_AGO = '365d'

const SOURCES = {
  gateway: {
    word: 'gateway',
    now: gatewayNames,
    kept: async (asked, name) =>
      idsIfAny(await asked.invoke('message-list', { gateway: name, limit: 1 }), name),
  },
  transport: {
    word: 'gateway with the transport',
    now: async (asked, environs) => namesIn(await gatewaysOf(asked, environs), 'transport'),
    async kept(asked, name) {
      const found = await asked.invoke('message-search', { transport: name, limit: 1 })
      // An incomplete search proves nothing.
      return pathGet(found, 'next') === undefined ? idsIfAny(pathGet(found, 'messages'), name) : [name]
    },
  },
  queue: {
    word: 'queue',
    now: async (asked) => [...QUEUES, ...(await subscriptionQueues(asked))],
    kept: async (asked) => namesIn(await asked.invoke('dead-letter-groups', {}), 'queue'),
  },
  route: {
    word: 'route',
    listedBy: 'route list',
    now: async (asked, environs) => [
      ...(await routeNames(asked, environs)),
      ...(await gatewayNames(asked, environs)),
    ],
    kept: async (asked) => namesIn(await asked.invoke('dead-letter-groups', {}), 'group'),
  },
  code: {
    word: 'error code',
    now: async (asked) => namesIn(await asked.invoke('dead-letter-groups', {}), 'code'),
    kept: async () => Object.keys(catalogue),
  },
  topic: {
    word: 'consumer group on the topic',
    now: async (asked) => namesIn(await asked.invoke('event-groups', {}), 'topic'),
  },
  group: {
    word: 'consumer group',
    now: async (asked, _environs, { topic }) =>
      namesIn(await asked.invoke('event-groups', isText(topic) ? { topic } : {}), 'group'),
  },
  model: { word: 'model', now: (asked) => namesInCost(asked, 'model') },
  skill: {
    word: 'skill',
    listedBy: 'skill list',
    now: async (asked) => namesIn(await asked.skills(), 'name'),
    kept: (asked) => namesInCost(asked, 'skill'),
  },
} satisfies Record<string, Source>

/**
 * Checks the names in the arguments of a built-in skill, so that a typo does not return an empty
 * result. Throws `not_found` with the nearest name. Accepts names that are only in stored data.
 */
export async function requireKnown(
  skill: string,
  args: unknown,
  asked: Asked,
  environs: Environs,
): Promise<void> {
  if (!isJsonObject(args)) return
  for (const { skill: pattern, argument, kind } of ARGUMENTS) {
    const name = args[argument]
    if (!isText(name) || !pattern.test(skill)) continue
    await requireName(kind, name, asked, environs, args)
  }
}

/** The same for a single name. */
export async function requireName(
  kind: Kind,
  name: string,
  asked: Asked,
  environs: Environs,
  args: JsonObject = {},
): Promise<void> {
  const source: Source = SOURCES[kind]
  const now = await source.now(asked, environs, args)
  if (now.includes(name)) return
  const kept = (await source.kept?.(asked, name)) ?? []
  if (kept.includes(name)) return
  const list = source.listedBy === undefined ? '' : ` \`trivium ${source.listedBy}\` lists them.`
  const hint = didYouMean(name, [...new Set(now)]) || list
  throw new TriviumError('not_found', { path: `${source.word} ${name}`, hint })
}

/** Wraps a connection, so that calls first check the names in their arguments. */
export function checked<Given extends Asked>(connection: Given, environs: Environs): Given {
  const { invoke } = connection
  /** Repeated calls are checked once. */
  const seen = new Set<string>()
  const checkedInvoke: Asked['invoke'] = async (name, args, signal) => {
    const call = JSON.stringify([name, args])
    if (!seen.has(call)) await requireKnown(name, args, connection, environs)
    seen.add(call)
    return invoke(name, args, signal)
  }
  return { ...connection, invoke: checkedInvoke }
}

async function gatewaysOf(
  asked: Asked,
  environs: Environs,
): Promise<readonly { name: string; transport: string }[]> {
  if (!asked.running) return (await loadFor(environs)).gateways
  const status = await asked.status()
  return ['gateways', 'disabled']
    .flatMap((list) => objectsIn(pathGet(status, list)))
    .map(({ name, transport }) => ({ name: String(name), transport: String(transport) }))
}

async function gatewayNames(asked: Asked, environs: Environs): Names {
  return namesIn(await gatewaysOf(asked, environs), 'name')
}

async function routeNames(asked: Asked, environs: Environs): Names {
  if (asked.running) return namesIn(await asked.invoke('route-list', {}), 'name')
  return (await loadFor(environs)).routes.map(({ name }) => name)
}

/** Without a daemon the names are unknown; their queues with dead letters are known. */
async function subscriptionQueues(asked: Asked): Names {
  if (!asked.running) return []
  return namesIn(await asked.invoke('subscription-list', {}), 'name').map((name) => `push/${name}`)
}

async function namesInCost(asked: Asked, by: 'model' | 'skill'): Names {
  return namesIn(pathGet(await asked.invoke('cost', { by, since: LONG_AGO }), 'rows'), 'name')
}

function namesIn(list: unknown, key: string): string[] {
  return objectsIn(list).map((one) => String(one[key]))
}

function idsIfAny(list: unknown, name: string): string[] {
  return objectsIn(list).length > 0 ? [name] : []
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
