import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { ROOT } from './root.ts'

/** The figures of one measurement, by name. */
export type Figures = Record<string, number>

const replySchema = z.object({
  id: z.number(),
  figures: z.record(z.string(), z.number()).optional(),
  error: z.string().optional(),
})

/** Another process of the benchmark, which answers calls. */
export type Peer = {
  pid: number
  /**
   * Calls a handler of `servePeer` in that process and resolves with its figures. Rejects with its
   * error, or if the process has ended.
   */
  call(name: string, params?: object): Promise<Figures>
  end(): Promise<void>
}

/**
 * The processor cores: the measured process has the first one to itself; load and Redis share the
 * second.
 */
export const CORE = { server: 0, load: 1 }

const hasTaskset = spawnSync('taskset', ['--version']).status === 0

/** The command that runs Node on one core, if the system supports it. */
export function pinned(core: number, args: readonly string[]): [command: string, args: string[]] {
  const node = [process.execPath, ...args]
  return hasTaskset ? ['taskset', ['-c', String(core), ...node]] : [process.execPath, [...args]]
}

/** Moves a running process with all its threads to one core. */
export function pin(pid: number, core: number): void {
  if (hasTaskset) spawnSync('taskset', ['-a', '-c', '-p', String(core), String(pid)])
}

/**
 * Starts `peers/<name>.ts` of the clone at `root` on a core. The process ends when this one does.
 */
export async function startPeer(
  name: string,
  core: number,
  options: { env?: Record<string, string>; nodeArgs?: readonly string[]; root?: string } = {},
): Promise<Peer> {
  const file = join(options.root ?? ROOT, 'ops', 'bench', 'peers', `${name}.ts`)
  const [command, args] = pinned(core, [...(options.nodeArgs ?? []), file])
  const child = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...options.env },
  })
  const calls = new Map<number, PromiseWithResolvers<Figures>>()
  let lastId = 0
  child.on('message', (message) => {
    const { id, figures, error } = replySchema.parse(message)
    const pending = calls.get(id)
    calls.delete(id)
    if (error === undefined) pending?.resolve(figures ?? {})
    else pending?.reject(new Error(`${name}: ${error}`))
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of calls.values()) reject(new Error(`${name} ended (${code ?? signal})`))
  })
  const call = (handler: string, params: object = {}) => {
    const pending = Promise.withResolvers<Figures>()
    if (!child.connected) return Promise.reject(new Error(`${name} has ended`))
    const id = ++lastId
    calls.set(id, pending)
    child.send({ id, name: handler, params }, (error) => {
      if (error) pending.reject(error)
    })
    return pending.promise
  }
  await call('ready')
  return { pid: child.pid ?? 0, call, end: () => endChild(child) }
}

const KILL_AFTER_MS = 10_000

/**
 * Ends a child with SIGTERM, so that it can write its profile, and with SIGKILL after ten seconds.
 */
export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  await exit
  clearTimeout(timer)
}

/** Linux counts processor time in ticks, 100 a second. */
const MICROS_PER_TICK = 10_000

/** Processor time (µs) of all threads that a process has used so far. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The fields after the name of the command, which may contain spaces (proc_pid_stat(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const userTicks = Number(fields[11])
  const systemTicks = Number(fields[12])
  return (userTicks + systemTicks) * MICROS_PER_TICK
}

/** Resident memory (MB) of a process: the current one, or the maximum so far (`VmHWM`). */
export function residentMegabytes(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const [, kilobytes] =
    new RegExp(`^${which}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
