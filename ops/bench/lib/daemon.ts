import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  /** Milliseconds from its start until it said that it is ready. */
  readyAfter: number
  dir: string
  /** Invokes a skill over the control API. */
  invoke(skill: string, args?: object): Promise<unknown>
  /** Stops the process and keeps its data. */
  stop(): Promise<void>
}

/** Gateways that all rows use; `routes` says what becomes of the messages. */
const GATEWAYS = `gateways:
  github: { transport: webhook, path: /hooks/github, verify: { scheme: github, secret: '${SECRET}' } }
  plain: { transport: webhook, path: /hooks/plain }
daemon: { grace: 200ms }
`

/** Makes a folder where a daemon runs until the row ends: configuration, skills and, for the embedded store, its data. */
export function createSite(
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

/** Writes the configuration of a site; `gateway` is a line that describes one more. */
export function writeRoutes(dir: string, routes: string, gateway = ''): void {
  writeFileSync(join(dir, 'routes.yaml'), GATEWAYS.replace('daemon:', `${gateway}daemon:`) + routes)
}

/** Accepts `count` messages into a store that no daemon uses meanwhile. `dir`: of its data. `root`: whose code does it. */
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

/** Runs `trivium start` of the clone at `root` as a user does, on the core of the server. */
export async function startDaemon(
  dir: string,
  redisUrl: string | undefined,
  root = ROOT,
): Promise<BenchDaemon> {
  const file = join(dir, '.trivium', 'daemon.json')
  rmSync(file, { force: true })
  const [command, args] = pinned(CORE.server, [
    ...profileFlags(dir),
    join(root, 'bin', 'trivium.js'),
    'start',
  ])
  const began = performance.now()
  const child = spawn(command, args, {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: dir,
      TRIVIUM_LISTEN: '127.0.0.1:0',
      TRIVIUM_CONTROL_LISTEN: '127.0.0.1:0',
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    },
  })
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  child.stderr?.on('data', (chunk) => {
    output = (output + chunk).slice(-5_000)
  })
  const onExit = () => child.kill('SIGKILL')
  process.on('exit', onExit)
  while (!existsSync(file)) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the daemon ended at once (${child.signalCode ?? child.exitCode}):\n${output}`)
    await pause(2)
  }
  const readyAfter = performance.now() - began
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
function profileFlags(dir: string): string[] {
  const into = process.env.TRIVIUM_BENCH_PROFILE
  if (!into) return []
  return ['--cpu-prof', `--cpu-prof-dir=${into}`, `--cpu-prof-name=${dir.slice(-6)}-${Date.now()}.cpuprofile`]
}
