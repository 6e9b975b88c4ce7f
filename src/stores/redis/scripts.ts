import { hash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Cluster, Command, Redis } from 'ioredis'
import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { type Batcher, createBatcher } from '../../lib/batch.ts'
import { type Connection, type ConnectOptions, slotOf, toStoreError, wasNotSent } from './connect.ts'
import type { Layout } from './layout.ts'

export type Args = readonly (string | number)[]

/** Access of the store's parts to Redis. */
export type Server = ReturnType<ReturnType<typeof createServer>['at']>

/**
 * `now`: the time for everything, for tests. `clock`: the clock of the daemon, for the times at which something is due; it has
 * to be the one by which the daemon waits.
 */
type Clocks = { now?: (() => number) | undefined; clock?: (() => number) | undefined }

/**
 * Loads the scripts, each with the preamble and the `lua/lib` files named in its `-- include:` line. Without `now` (the test clock)
 * they use the server's clock. They run by hash, and are sent in full only if the server does not have them.
 */
export function createServer(
  connection: Connection,
  prefix: string,
  { now, clock = Date.now, replicas = 0, commandTimeout = 2_000 }: Omit<ConnectOptions, 'url'> & Clocks,
) {
  const { client, address } = connection
  const scripts = loadScripts()
  const rethrow = (error: unknown) => Promise.reject(toStoreError(error, address))
  const confirmed = createConfirmation(connection, replicas, commandTimeout / 2)
  /** Sends one command without waiting for replicas. `Reply` is the documented reply of Redis, or of
   * the head of a script: Lua's false arrives as null. Rejects with a TriviumError, as `run` does. */
  const call = <Reply>(command: string, key: string, ...args: Args): Promise<Reply> =>
    client.call(command, key, ...args).catch(rethrow) as Promise<Reply>

  return {
    /** Root of all values, so that listing by prefix uses an index instead of scanning every node. */
    kv: `{${prefix}:kv}:`,
    /** Root of a store with one shard; with several shards, of the format key only. */
    main: `{${prefix}}:`,
    /** Channel prefix of the signals. */
    channel: `${prefix}:signals`,
    call,
    /** Access of a shard's parts to Redis. */
    at(shard: number, layout: Layout) {
      const main = rootOf(prefix, shard, layout)
      const channel = layout.of === 1 ? this.channel : `${this.channel}/${shard}`
      return {
        /**
         * Where things lie. Keys of a root share a hash tag, hence a slot of a cluster and an atomic step: journal, receive and jobs
         * of a shard are under one; each other topic has its own.
         */
        roots: {
          main,
          kv: this.kv,
          topic: (name: string) => (name === MESSAGE_TOPIC ? main : `{${prefix}:topic:${slug(name)}}:`),
        },
        places: layout.places(shard),
        owner: () => connection.ownerOf(main),
        now: now ?? clock,
        isClosed: () => client.status === 'end',
        call,
        scan: (begin: string, part: string) => scanKeys(connection, begin, part),
        /** Runs the script `lua/<name>.lua`. `root`: the prefix of its keys, with the hash tag. */
        run: async <Reply>(name: string, root: string, ...args: Args): Promise<Reply> => {
          const script = scripts.get(name)
          if (!script) throw new RangeError(`there is no script ${name}`)
          if (connection.isFailingOver()) return rethrow(new Error('no connection: a fail-over is under way'))
          const given = [root, `${root}meta`, now ? String(now()) : '', channel, ...args]
          try {
            return (await confirmed(root, () => send(client, 'evalsha', script.hash, given))) as Reply
          } catch (error) {
            // Not loaded, for example after a restart or failover.
            if (!(error instanceof Error && error.message.startsWith('NOSCRIPT')))
              return rethrow(named(error, script.text))
            const whole = confirmed(root, () => send(client, 'eval', script.text, given))
            return whole.catch((error) => rethrow(named(error, script.text))) as Promise<Reply>
          }
        },
      }
    },
  }
}

/**
 * Runs a script, and releases its arguments with the reply. ioredis keeps commands reachable from a function that V8 allocates in
 * the old space, so each batch of messages would live until the next full collection.
 */
async function send(
  client: Connection['client'],
  name: 'eval' | 'evalsha',
  script: string,
  given: Args,
): Promise<unknown> {
  const command = new Command(name, [script, 2, ...given], { replyEncoding: 'utf8' })
  try {
    return await client.sendCommand(command)
  } finally {
    command.args = []
  }
}

/**
 * Resolves with a script's reply once `replicas` replicas have confirmed its writes; rejects after `timeout` ms with an unknown
 * outcome. `WAIT` blocks the connection, so one at a time covers everything sent before it, in the same round trip.
 */
function createConfirmation({ client, serverOf }: Connection, replicas: number, timeout: number) {
  const waits = new WeakMap<Redis, Batcher<void, void>>()

  function wait(server: Redis): Promise<void> {
    const run = async () => {
      const have = await server.wait(replicas, timeout)
      if (have < replicas) throw new Error(`NOREPLICAS ${have} of ${replicas} replicas have what was written`)
      return []
    }
    const batcher = waits.get(server) ?? createBatcher({ max: Number.POSITIVE_INFINITY, serial: true, run })
    waits.set(server, batcher)
    return batcher.add()
  }

  return async (root: string, send: () => Promise<unknown>): Promise<unknown> => {
    if (replicas === 0) return send()
    if (client instanceof Redis) return Promise.all([send(), wait(client)]).then(([answer]) => answer)
    // The node that ran it is known only afterwards; if the owner changed meanwhile, both are asked.
    const before = serverOf(root)
    const answer = await send()
    await Promise.all([...new Set([before, serverOf(root)])].map(wait))
    return answer
  }
}

/** The hash tag of a shard, chosen so that shards are spread evenly over the slots and masters. */
export function tagOf(prefix: string, shard: number, of: number): string {
  for (let n = 0; ; n++) {
    const tag = n === 0 ? `${prefix}:${shard}` : `${prefix}:${shard}.${n}`
    if (Math.floor((slotOf(tag) * of) / SLOTS) === shard) return tag
  }
}
const SLOTS = 16_384

/** The key prefix of a shard. */
export function rootOf(prefix: string, shard: number, { madeOf }: Layout): string {
  const of = madeOf(shard)
  return of === 1 ? `{${prefix}}:` : `{${tagOf(prefix, shard, of)}}:`
}

/** 96 bits of SHA-256 in 16 characters, over unambiguously joined parts: collision-free in practice, and compact. */
export function digest(...parts: readonly string[]): string {
  const text = parts.length === 1 ? (parts[0] ?? '') : JSON.stringify(parts)
  return hash('sha256', text, 'base64url').slice(0, 16)
}

/** Escapes an arbitrary name for a hash tag, which braces would end. */
function slug(name: string): string {
  return /^[\w.:-]{1,100}$/.test(name) ? name : `~${digest(name)}`
}

/** Adds the command to a permission error of a script: Redis reports only the line. */
function named(error: unknown, script: string): unknown {
  const message = error instanceof Error ? error.message : ''
  const [, line] = /user executing the script.*user_script:\s*(\d+)/.exec(message) ?? []
  const [, command] = /'([A-Z]+)'/.exec(script.split('\n')[Number(line) - 1] ?? '') ?? []
  return command
    ? new Error(`${message} (${command}; docs/stores.md has the rights)`, { cause: error })
    : error
}

/** Three script arguments: this daemon, the call's number, and the numbers of unanswered calls. */
type Handing = [string, number, string]

/** Ms after which lost replies are released if no other call does so before. */
const GIVE_BACK = 1_000

/**
 * Makes calls that hand out work safe against lost replies: `lua/lib/unheard.lua` records what a call handed out under its number.
 * The next call of the same name reports unanswered numbers, and Redis takes their work back. `giveBack` only does that, with
 * number 0, because the consumer may ask another daemon next. Not needed for endless loops of calls.
 */
export function createHandOver(
  giveBack?: (name: string, handing: Handing) => Promise<unknown>,
  isClosed: () => boolean = () => false,
) {
  const daemon = randomUUID()
  const unheard = new Map<string, Set<number>>()
  let numbers = 0

  async function tell<T>(name: string, number: number, send: (handing: Handing) => Promise<T>): Promise<T> {
    const told = [...(unheard.get(name) ?? [])]
    const answer = await send([daemon, number, told.join(' ')])
    const left = unheard.get(name)
    for (const each of told) left?.delete(each)
    return answer
  }

  function giveBackSoon(name: string) {
    if (!giveBack) return
    const again = () => giveBackSoon(name)
    const look = () => {
      // The loop stays until then, even if the set is empty in between: one loop per name.
      if (!unheard.get(name)?.size || isClosed()) unheard.delete(name)
      else tell(name, 0, (handing) => giveBack(name, handing)).then(again, again)
    }
    setTimeout(look, GIVE_BACK).unref()
  }

  return async <T>(name: string, send: (handing: Handing) => Promise<T>): Promise<T> => {
    const number = ++numbers
    try {
      return await tell(name, number, send)
    } catch (error) {
      if (error instanceof TriviumError && error.retryable && !wasNotSent(error)) {
        if (!unheard.has(name)) giveBackSoon(name)
        unheard.set(name, (unheard.get(name) ?? new Set()).add(number))
      }
      throw error
    }
  }
}

/** Maximum items and characters per call, so that no script blocks others for long. */
const MAX_ITEMS = 256
const MAX_SIZE = 1_000_000
/** Keys that one command looks at. */
const SCANNED = 1_000

/**
 * Sends items (each a list of script arguments) in successive calls of bounded size. Returns the results in order. If a call fails,
 * earlier ones stay in effect; repeating items must be harmless.
 */
export async function inBatches<Answer>(
  items: readonly Args[],
  send: (batch: readonly Args[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let start = 0; start < items.length; ) {
    let end = start
    for (let size = 0; end < items.length && end - start < MAX_ITEMS; end++) {
      for (const arg of items[end] ?? []) size += typeof arg === 'string' ? arg.length : 16
      if (size > MAX_SIZE && end > start) break
    }
    answers.push(...(await send(items.slice(start, end))))
    start = end
  }
  return answers
}

/** The keys of all masters that begin with a text and then have another one in them. */
async function* scanKeys(
  { client, address }: Connection,
  begin: string,
  part: string,
): AsyncGenerator<string[]> {
  const escaped = (text: string) => text.replaceAll(/[\\*?[\]]/g, '\\$&')
  const match = `${escaped(begin)}*${part === '' ? '' : `${escaped(part)}*`}`
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  try {
    for (const server of servers) yield* server.scanStream({ match, count: SCANNED })
  } catch (error) {
    throw toStoreError(error, address)
  }
}

function loadScripts(): Map<string, { text: string; hash: string }> {
  const folder = new URL('./lua/', import.meta.url)
  const read = (path: string) => readFileSync(new URL(path, folder), 'utf8')
  const preamble = read('lib/preamble.lua')
  const files = readdirSync(folder).filter((file) => file.endsWith('.lua'))
  return new Map(
    files.map((file) => {
      const body = read(file)
      const includes = /^-- include: (.+)$/m.exec(body)?.[1]?.split(' ') ?? []
      const text = [preamble, ...includes.map((name) => read(`lib/${name}.lua`)), body].join('\n')
      return [file.slice(0, -'.lua'.length), { text, hash: hash('sha1', text) }]
    }),
  )
}
