import { pause } from '../../../src/lib/pause.ts'
import { catchUp, dueAt } from './catch-up.ts'
import { createCursorStore } from './cursor.ts'
import { openCursor } from './open-cursor.ts'
import type { FolderParts, OpenFolder } from './reading.ts'

/**
 * Reads a folder until `signal` aborts. The cursor advances past mails that are processed or set
 * aside. Rejects if the connection fails; the next call continues at the cursor.
 */
export async function readFolder(parts: FolderParts, stopped: AbortSignal): Promise<void> {
  const { connection, folder, options, deps, token } = parts
  const { client, closed, run } = connection
  const { load, save } = createCursorStore(deps.kv, deps.gateway, folder, token)
  // Read-only unless the options change mails on the server.
  const readOnly = options.after === 'keep' && !options.quarantine
  const open = async () => {
    const { uidNext, uidValidity } = await run(() => client.mailboxOpen(folder, { readOnly }))
    return { uidNext, uidValidity: String(uidValidity) }
  }
  const mailbox = await open()
  const signal = AbortSignal.any([stopped, closed])
  const opened: OpenFolder = { ...parts, ...mailbox, readOnly, save, stopped, signal }
  let newMail = new AbortController()
  client.on('exists', () => newMail.abort())

  let cursor = await openCursor(opened, await load())
  while (!signal.aborted) {
    newMail = new AbortController()
    const woken = AbortSignal.any([signal, newMail.signal])
    cursor = await catchUp(cursor, opened)
    parts.onProgress(cursor.aside)
    if (woken.aborted) continue
    // IDLE ends with the next command. Failures show in `closed` or in the next sweep.
    client.idle().catch((error) => deps.log.debug({ folder, err: error }, 'IDLE ended'))
    const due = Math.min(...cursor.aside.map((each) => dueAt(each, opened))) - deps.now()
    await pause(Math.min(options.sweep, Math.max(0, due)), woken)
    if (woken.aborted) continue
    // If a folder was deleted and recreated, the old one stays open and silent, also for STATUS.
    const { uidValidity } = await open()
    if (uidValidity !== mailbox.uidValidity) throw new Error(`${folder} was recreated`)
  }
  if (!stopped.aborted) throw closed.reason
}
