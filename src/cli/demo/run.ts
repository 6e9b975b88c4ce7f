import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlToken } from '../../api/token.ts'
import { TriviumError } from '../../core/errors.ts'
import { paint } from '../../lib/paint.ts'
import { type Environs, ownFile } from '../command.ts'
import { writeDataFile } from '../data-dir.ts'
import { requireOrOfferParts } from '../install-parts.ts'
import { needsFor } from '../needs.ts'
import { createOwnDaemon } from '../own-daemon.ts'
import { show, type Terminal } from '../terminal.ts'
import { createDay, turnClockBack } from './day.ts'
import { createSend } from './senders.ts'
import { startServices } from './services.ts'
import { createStory, readContent } from './story.ts'

/**
 * Starts a daemon with a day of traffic, prints its address, and continues until the signal. Leaves
 * nothing behind.
 */
export async function runDemo(
  { version }: Environs,
  terminal: Terminal,
  messages: number,
  interrupted: AbortSignal,
) {
  await using done = new AsyncDisposableStack()
  const dir = done.adopt(await mkdtemp(join(tmpdir(), 'trivium-demo-')), (dir) =>
    rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  )
  const content = readContent(await readFile(ownFile('project/demo/words.yaml'), 'utf8'))
  const services = await startServices()
  const config = await writeSite(dir, {
    IMAP_PORT: services.imap,
    SMTP_PORT: services.smtp,
    WORLD_PORT: services.port,
  })
  const jumpTo = turnClockBack()
  // No variables of the caller, so that this daemon cannot reach any of their systems.
  const environs: Environs = { env: {}, cwd: dir, version }
  await requireOrOfferParts(await needsFor(environs), terminal)
  const discardLog = { write() {} }
  const { daemon } = await createOwnDaemon(environs, {
    mode: 'serve',
    pretty: false,
    destination: discardLog,
    // Not a steady clock, which would not follow the jumps of the demo at once.
    now: () => Date.now(),
  })
  done.defer(daemon.stop)
  const addresses = await daemon.start()
  if (!addresses) throw new TriviumError('internal', { reason: 'the demo is not listening' })
  const dataDir = join(dir, '.trivium')
  const daemonFile = { pid: process.pid, ...addresses, store: 'embedded', config, startedAt: Date.now() }
  await writeDataFile(dataDir, 'daemon.json', daemonFile)
  const send = createSend({
    listen: addresses.listen,
    submit: (submission) => daemon.operator.submit(submission, interrupted),
  })
  if (!terminal.json && !process.stderr.isTTY) terminal.err(STARTING)
  const onProgress = (part: number) =>
    terminal.progress(`A day at Harbour Coffee … ${Math.round(part * 100)} %`)
  const day = createDay({
    daemon,
    jumpTo,
    story: createStory(content),
    send,
    signal: interrupted,
    onProgress,
  })
  await day.fill(messages)
  if (interrupted.aborted) return
  await writeFile(join(dir, 'live'), '')
  terminal.progress('')

  const url = `http://${addresses.control}`
  const token = controlToken(dataDir, undefined)
  const result = { url, token, pid: process.pid, listen: `http://${addresses.listen}`, config }
  show(terminal, result, () => welcome(result))
  await day.keepSending()
}

/** For output into a file, where no progress is shown. */
const STARTING = 'The demo is filling a day of messages; its address follows in about a minute.\n'

/**
 * Writes the demo's routes.yaml and skills into a folder, because Node does not strip types under
 * node_modules. Resolves with the path.
 */
async function writeSite(dir: string, ports: Record<string, number>): Promise<string> {
  await cp(ownFile('project/demo/skills'), join(dir, 'skills'), { recursive: true })
  let routes = await readFile(ownFile('project/demo/routes.yaml'), 'utf8')
  for (const [name, port] of Object.entries(ports)) routes = routes.replaceAll(name, String(port))
  const path = join(dir, 'routes.yaml')
  await writeFile(path, routes)
  return path
}

function welcome({ url, token, config }: Record<'url' | 'token' | 'config', string>): string {
  return `
  ${paint('bold', 'A day at Harbour Coffee')}: mail, Slack, webhooks and a chat; some of it failed, some waits for you.

  console     ${url}/#token=${token}

  In a second terminal:
    npx trivium --config ${config} top
    npx trivium --config ${config} tail --outcome dead

  A little more comes in all the time. Ctrl-C ends the demo and removes all of it.

`
}
