import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { writeWhole } from '../lib/disk.ts'

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
export async function writeDaemonFile(dataDir: string, content: DaemonFile): Promise<void> {
  await writeWhole(join(dataDir, 'daemon.json'), `${JSON.stringify(content, null, 2)}\n`)
}

/** Removes the file, but only that of this process. */
export function removeDaemonFile(dataDir: string): void {
  if (readDaemonFile(dataDir)?.pid === process.pid) rmSync(join(dataDir, 'daemon.json'), { force: true })
}

/** The file's content; the daemon that wrote it may be gone. A file that cannot be read names no daemon. */
export function readDaemonFile(dataDir: string): DaemonFile | undefined {
  try {
    return daemonFileSchema.safeParse(JSON.parse(readFileSync(join(dataDir, 'daemon.json'), 'utf8'))).data
  } catch {
    return undefined
  }
}
