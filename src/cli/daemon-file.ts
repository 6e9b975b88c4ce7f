import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const daemonFileSchema = z.object({
  pid: z.int(),
  listen: z.string(),
  control: z.string(),
  store: z.string(),
  startedAt: z.number(),
})

/** What `<data dir>/daemon.json` tells: where the running daemon is. Addresses are `host:port`. */
export type DaemonFile = z.infer<typeof daemonFileSchema>

/** Writes the file at once as a whole. */
export function writeDaemonFile(dataDir: string, content: DaemonFile): void {
  const path = pathOf(dataDir)
  writeFileSync(`${path}.tmp`, `${JSON.stringify(content, null, 2)}\n`)
  renameSync(`${path}.tmp`, path)
}

/** Removes the file, but only that of this process. */
export function removeDaemonFile(dataDir: string): void {
  if (readDaemonFile(dataDir)?.pid === process.pid) rmSync(pathOf(dataDir), { force: true })
}

/** The file's content where the daemon that wrote it still runs. */
export function readDaemonFile(dataDir: string): DaemonFile | undefined {
  let text: string
  try {
    text = readFileSync(pathOf(dataDir), 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const parsed = daemonFileSchema.safeParse(asJson(text))
  return parsed.success && isAlive(parsed.data.pid) ? parsed.data : undefined
}

/** A file that is no JSON (a full disk, an editor) names no daemon. */
function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'daemon.json')
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
