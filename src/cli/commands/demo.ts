import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLogger } from '../../control/logger.ts'
import { controlToken } from '../../control/token.ts'
import { TriviumError } from '../../core/errors.ts'
import { createDaemon } from '../../daemon.ts'
import { type AddCommand, type Environs, interruption, loadFor, ownFile, wholeNumber } from '../command.ts'
import { writeDataFile } from '../connection.ts'
import { createClock } from '../demo/clock.ts'
import { createDay } from '../demo/day.ts'
import { CUSTOMERS, chatToken } from '../demo/people.ts'
import { createSenders } from '../demo/senders.ts'
import { createStory } from '../demo/story.ts'
import { startWorld, type World } from '../demo/world.ts'
import { paint, type Terminal } from '../terminal.ts'

const DAY = 86_400_000

/** `trivium demo`. */
export const addDemo: AddCommand = (program, context) => {
  program
    .command('demo')
    .description('a throw-away daemon with a day of traffic over all gateways, to look at; needs no account')
    .option('--messages <n>', 'about how many', wholeNumber('--messages'), 2_000)
    .action(async ({ messages }: { messages: number }) => {
      const interrupted = interruption()
      await runDemo(context.environs(), context.terminal(), messages, interrupted)
      // Nothing of it is worth waiting for: a socket, a timer of a gateway that was just cut off.
      process.exit(0)
    })
}

async function runDemo(
  { version }: Environs,
  terminal: Terminal,
  messages: number,
  interrupted: AbortSignal,
) {
  await using done = new AsyncDisposableStack()
  const dir = done.adopt(await mkdtemp(join(tmpdir(), 'trivium-demo-')), (dir) =>
    rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  )
  const world = done.adopt(await startWorld(), ({ close }) => close())
  await writeSite(dir, world)
  const clock = createClock(DAY)
  // None of the variables of whoever calls it: this daemon is to meet nothing of theirs.
  const environs: Environs = { env: {}, cwd: dir, version }
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    secrets: () => [],
    destination: { write: (line) => lines.push(line) > 1_000 && lines.shift() },
    pretty: false,
  })
  const load = () => loadFor(environs)
  const daemon = await createDaemon({ load, mode: 'serve', version, env: environs.env, log })
  done.defer(daemon.stop)
  const addresses = await daemon.start()
  if (!addresses) throw new TriviumError('internal', { reason: 'the demo does not listen' })
  const dataDir = join(dir, '.trivium')
  await writeDataFile(dataDir, 'daemon.json', {
    pid: process.pid,
    ...addresses,
    store: 'embedded',
    startedAt: Date.now(),
  })
  const submit = (submission: Parameters<typeof daemon.operator.submit>[0]) =>
    daemon.operator.submit(submission, interrupted)
  const senders = done.adopt(createSenders({ world, listen: addresses.listen, submit }), ({ close }) =>
    close(),
  )
  const story = createStory(await readFile(ownFile('project/demo/words.yaml'), 'utf8'))
  const onProgress = (part: number) =>
    terminal.progress(`A day at Harbour Coffee … ${Math.round(part * 100)} %`)
  const day = createDay({ daemon, clock, story, senders, signal: interrupted, onProgress })
  await day.fill(messages)
  if (interrupted.aborted) return
  await writeFile(join(dir, 'live'), '')
  terminal.progress('')

  const url = `http://${addresses.control}`
  const token = controlToken(dataDir, undefined)
  const config = join(dir, 'routes.yaml')
  const place = { url, token, pid: process.pid, listen: `http://${addresses.listen}`, config }
  terminal.out(terminal.json ? `${JSON.stringify(place)}\n` : welcome(place))
  await day.goOn()
}

/** The demo's routes.yaml and skills, in a folder of their own: Node strips no types under node_modules. */
async function writeSite(dir: string, { mail, port }: World): Promise<void> {
  await cp(ownFile('project/demo/skills'), join(dir, 'skills'), { recursive: true })
  const tokens = CUSTOMERS.map(({ login }) => `${login}: ${chatToken(login)}`).join(', ')
  const values = {
    IMAP_PORT: mail.imap,
    SMTP_PORT: mail.smtp,
    WORLD_PORT: port,
    CHAT_TOKENS: tokens,
    PUSH_SECRET: `whsec_${Buffer.from('the demo has no secrets, but signs').toString('base64')}`,
  }
  let routes = await readFile(ownFile('project/demo/routes.yaml'), 'utf8')
  for (const [name, value] of Object.entries(values)) routes = routes.replaceAll(name, String(value))
  const addresses = 'daemon: { listen: "127.0.0.1:0", control-listen: "127.0.0.1:0", data-dir: .trivium }'
  await writeFile(join(dir, 'routes.yaml'), `${routes}\n${addresses}\n`)
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
