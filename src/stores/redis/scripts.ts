import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { Cluster, Redis } from 'ioredis'
import { isUnknownScript, toStoreError } from './failure.ts'

/**
 * Runs a script of the folder `lua` by its file name without the ending. `root` is what its keys begin
 * with, hash tag included; the clock and the channel of the signals are put before the arguments.
 * Rejects with a TriviumError.
 */
export type Run = (script: string, root: string, ...args: (string | number)[]) => Promise<unknown>

export type RunDeps = {
  client: Redis | Cluster
  address: string
  channel: string
  /** The clock of the tests; without it scripts go by the clock of the Redis server. */
  now?: () => number
}

/**
 * Loads the scripts, each with the preamble and the files of `lua/lib` that its `-- include:` line names.
 * They run by their hash, and are sent whole only where the server does not have them.
 */
export function createScripts(deps: RunDeps): Run {
  const scripts = loadScripts()

  return async (name, root, ...args) => {
    const script = scripts.get(name)
    if (!script) throw new RangeError(`there is no script ${name}`)
    const clock = deps.now ? String(deps.now()) : ''
    try {
      return await deps.client.evalsha(script.hash, 1, root, clock, deps.channel, ...args)
    } catch (error) {
      if (!isUnknownScript(error)) throw toStoreError(error, deps.address)
    }
    try {
      return await deps.client.eval(script.text, 1, root, clock, deps.channel, ...args)
    } catch (error) {
      throw toStoreError(error, deps.address)
    }
  }
}

type Script = { text: string; hash: string }

function loadScripts(): Map<string, Script> {
  const folder = new URL('./lua/', import.meta.url)
  const read = (path: string) => readFileSync(new URL(path, folder), 'utf8')
  const preamble = read('lib/preamble.lua')
  const scripts = new Map<string, Script>()
  for (const file of readdirSync(folder)) {
    if (!file.endsWith('.lua')) continue
    const body = read(file)
    const includes = /^-- include: (.+)$/m.exec(body)?.[1]?.split(' ') ?? []
    const text = [preamble, ...includes.map((name) => read(`lib/${name}.lua`)), body].join('\n')
    scripts.set(file.slice(0, -'.lua'.length), { text, hash: createHash('sha1').update(text).digest('hex') })
  }
  return scripts
}
