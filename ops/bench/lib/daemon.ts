import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { Bench } from './bench.ts'
import { SECRET } from './github-webhook.ts'
import { CORE, endChild, pinned, startPeer } from './peer.ts'
import { ROOT } from './root.ts'

export type BenchDaemon = {
  pid: number
  /** The port of the public listener. */
  port: number
  /** Milliseconds from the start of the process until it was ready. */
  readyAfter: number
  dir: string
  /** Invokes a skill over the control API. */
  invoke(skill: string, args?: object): Promise<unknown>
  /** Stops the process and keeps its data. */
  stop(): Promise<void>
}

/** Gateways that all rows use; the `routes` of a row handle the messages. */
const GATEWAYS = `gateways:
  github: { transport: webhook, path: /hooks/github, verify: { scheme: github, secret: '${SECRET}' } }
  plain: { transport: webhook, path: /hooks/plain }
daemon: { grace: 200ms }
`

/**
 * Makes the working folder of a daemon, with its configuration and skills. It is removed at the end
 * of the row.
 */
export function createProject(
  bench: Pick<Bench, 'defer'>,
  options: { routes: string; skills?: Record<string, string> },
): string {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-bench-'))
  bench.defer(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
  writeRoutes(dir, options.routes)
  for (const [name, source] of Object.entries(options.skills ?? {})) {
    mkdirSync(join(dir, 'skills', name), { recursive: true })
    writeFileSync(join(dir, 'skills', name, 'index.ts'), source)
  }
  return dir
}

/** Writes the configuration of a project; `gateway` is a line with one more gateway. */
export function writeRoutes(dir: string, routes: string, gateway = ''): void {
  writeFileSync(join(dir, 'routes.yaml'), GATEWAYS.replace('daemon:', `${gateway}daemon:`) + routes)
}

/**
 * Accepts `count` messages into a store that no daemon uses meanwhile. `dir`: folder of its data.
 * `root`: the clone whose code accepts them.
 */
export async function fillStore(
  dir: string,
  redis: string | undefined,
  count: number,
  root = ROOT,
): Promise<void> {
  const client = await startPeer('store-client', CORE.server, { root })
  await client.call('open', { dir, redis })
  await client.call('fill', { count })
  await client.end()
}

/** How much (characters) of a daemon's output an error shows. */
const MAX_OUTPUT = 5_000

/** Runs `trivium start` of the clone at `root` as a user does, on the core of the server. */
export async function startDaemon(
  dir: string,
  redisUrl: string | undefined,
  root = ROOT,
): Promise<BenchDaemon> {
  const file = join(dir, '.trivium', 'daemon.json')
  rmSync(file, { force: true })
  const [command, args] = pinned(CORE.server, [join(root, 'bin', 'trivium.js'), 'start'])
  const start = performance.now()
  const child = spawn(command, args, {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: dir,
      TRIVIUM_LISTEN: '127.0.0.1:0',
      TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0',
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
      ...profileOf(dir),
    },
  })
  let output = ''
  const keepEnd = (chunk: Buffer) => {
    output = (output + chunk).slice(-MAX_OUTPUT)
  }
  child.stdout?.on('data', keepEnd)
  child.stderr?.on('data', keepEnd)
  const onExit = () => child.kill('SIGKILL')
  process.on('exit', onExit)
  while (!existsSync(file)) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(
        `the daemon ended before it was ready (${child.signalCode ?? child.exitCode}):\n${output}`,
      )
    await pause(2)
  }
  const readyAfter = performance.now() - start
  const { listen, control } = JSON.parse(readFileSync(file, 'utf8'))
  const token = readFileSync(join(dir, '.trivium', 'control-token'), 'utf8').trim()
  return {
    pid: child.pid ?? 0,
    port: Number(new URL(`http://${listen}`).port),
    readyAfter,
    dir,
    async invoke(skill, params = {}) {
      const response = await fetch(`http://${control}/v1/skills/${skill}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(params),
      })
      const { result, error } = answerSchema.parse(await response.json())
      if (error) throw new Error(`${skill}: ${error.message}`)
      return result
    },
    async stop() {
      process.off('exit', onExit)
      await endChild(child)
    },
  }
}

const answerSchema = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
})

/** `TRIVIUM_BENCH_PROFILE=dir` writes a processor profile of every daemon there. */
function profileOf(dir: string): Record<string, string> {
  const folder = process.env.TRIVIUM_BENCH_PROFILE
  if (!folder) return {}
  // The last six characters of a temporary folder are random.
  const name = `${dir.slice(-6)}-${Date.now()}.cpuprofile`
  return {
    NODE_OPTIONS: `--import=${new URL('profile.ts', import.meta.url)}`,
    TRIVIUM_BENCH_PROFILE_FILE: resolve(folder, name),
  }
}
