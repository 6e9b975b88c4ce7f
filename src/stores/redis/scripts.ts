import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Cluster, Command } from 'ioredis'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { createConfirmation } from './confirmation.ts'
import type { Connection, ConnectOptions } from './connect.ts'
import type { Layout, Places } from './layout.ts'
import { toStoreError } from './redis-error.ts'
import { channelOf, rootOf, slug } from './roots.ts'

export type Args = readonly (string | number)[]

/** The access of one shard to Redis. */
export type Server = {
  /**
   * Key prefixes with hash tags. Keys with the same prefix are in one slot of a cluster, so that a
   * script can change them atomically. `main`: journal, receive and jobs of the shard, and
   * `gateway-message`; each other topic has its own prefix.
   */
  roots: { main: string; kv: string; topic(name: string): string }
  places: Places
  /** On a cluster: the address of the master with the keys of this shard. */
  owner(): string | undefined
  now(): number
  isClosed(): boolean
  /**
   * Sends one command without waiting for replicas. `Reply` is the reply that the documentation of
   * Redis states. Rejects with a TriviumError.
   */
  call: <Reply>(command: string, key: string, ...args: Args) => Promise<Reply>
  /** The keys that begin with `begin` and contain `part` after it. */
  scan(begin: string, part: string): AsyncGenerator<string[]>
  /**
   * Runs the script `lua/<name>.lua`. `root`: the prefix of its keys, with the hash tag. `Reply` is
   * the reply that the head of the script states; Lua's false arrives as null. Rejects with a
   * TriviumError.
   */
  run: <Reply>(name: string, root: string, ...args: Args) => Promise<Reply>
}

type Clocks = {
  /** The time for everything, for tests. */
  now?: (() => number) | undefined
  /**
   * The clock of the daemon, for due times; it has to be the one by which
   * the daemon waits.
   */
  clock?: (() => number) | undefined
}

/**
 * Loads the scripts, each with the preamble and the `lua/lib` files named in its `-- include:`
 * line. Without `now` (the test clock) they use the server's clock. They run by hash, and are sent
 * in full only if the server does not have them.
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
  const call: Server['call'] = async (command, key, ...args) =>
    replyOf(await client.call(command, key, ...args).catch(rethrow))

  return {
    /**
     * Root of all values, so that listing by prefix uses an index instead of scanning every node.
     */
    kv: `{${prefix}:kv}:`,
    /** Root of a store with one shard; with several shards, of the format key only. */
    main: `{${prefix}}:`,
    /** Channel prefix of the signals. */
    channel: channelOf(prefix),
    call,
    /** The access of one shard to Redis. */
    at(shard: number, layout: Layout): Server {
      const main = rootOf(prefix, shard, layout)
      const channel = layout.of === 1 ? this.channel : `${this.channel}/${shard}`
      return {
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
        run: async (name, root, ...args) => {
          const script = scripts.get(name)
          if (!script) throw new RangeError(`there is no script ${name}`)
          if (connection.isFailingOver())
            return rethrow(new Error('no connection: a failover is in progress'))
          const given = [root, `${root}meta`, now ? String(now()) : '', channel, ...args]
          try {
            return replyOf(await confirmed(root, () => send(client, 'evalsha', script.hash, given)))
          } catch (error) {
            // Not loaded, for example after a restart or failover.
            if (!(error instanceof Error && error.message.startsWith('NOSCRIPT')))
              return rethrow(withCommand(error, script.text))
            const whole = confirmed(root, () => send(client, 'eval', script.text, given))
            return replyOf(await whole.catch((error) => rethrow(withCommand(error, script.text))))
          }
        },
      }
    },
  }
}

/**
 * The reply as the type that the caller states: the documented reply of a command or script.
 * Nothing checks it.
 */
function replyOf<Reply>(reply: unknown): Reply {
  return reply as Reply
}

/**
 * Runs a script, and releases its arguments with the reply. ioredis keeps commands reachable from a
 * function that V8 allocates in the old space, so each batch of messages would live until the next
 * full collection.
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

/** Adds the name of the command to a permission error of a script: Redis reports only the line. */
function withCommand(error: unknown, script: string): unknown {
  const message = error instanceof Error ? error.message : ''
  const [, line] = /user executing the script.*user_script:\s*(\d+)/.exec(message) ?? []
  const [, command] = /'([A-Z]+)'/.exec(script.split('\n')[Number(line) - 1] ?? '') ?? []
  return command
    ? new Error(`${message} (${command}; docs/stores.md has the rights)`, { cause: error })
    : error
}

/** Keys per SCAN command. */
const SCAN_COUNT = 1_000

/** The keys of all masters that begin with `begin` and contain `part` after it. */
async function* scanKeys(
  { client, address }: Connection,
  begin: string,
  part: string,
): AsyncGenerator<string[]> {
  const escaped = (text: string) => text.replaceAll(/[\\*?[\]]/g, '\\$&')
  const match = `${escaped(begin)}*${part === '' ? '' : `${escaped(part)}*`}`
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  try {
    for (const server of servers) yield* server.scanStream({ match, count: SCAN_COUNT })
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
