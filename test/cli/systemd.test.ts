import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { createSystemdNotifier } from '../../src/cli/systemd.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

/**
 * A program with a datagram socket like that of systemd, which Node cannot create. It prints each
 * datagram on a line.
 */
const LISTEN = `
import socket, sys
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
print("listening", flush=True)
while True:
    print(listener.recv(4096).decode().replace("\\n", " "), flush=True)
`

const hasNotify = spawnSync('systemd-notify', ['--version']).error === undefined

test('the daemon notifies systemd that it is ready, alive, and stopping', {
  timeout: 120_000,
  skip: hasNotify ? false : 'there is no systemd-notify here',
}, async (t) => {
  const site = openSite({ routes: 'routes: [{ name: rest, skill: echo }]', ownProcess: true })
  const socket = join(site.dir, 'notify')
  const listener = spawn('python3', ['-c', LISTEN, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => listener.kill('SIGKILL'))
  let received = ''
  listener.stdout.on('data', (chunk) => {
    received += chunk
  })
  await once(listener.stdout, 'data')

  const daemon = await site.start({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000' })
  await until(() => received.includes('READY=1'), 'READY=1')
  assert.match(received, /STATUS=.*127\.0\.0\.1/)
  await until(() => received.split('WATCHDOG=1').length > 2, 'two signals of the watchdog')
  assert.equal(await daemon.end(), 0)
  await until(() => received.includes('STOPPING=1'), 'STOPPING=1')
})

test('a stop while systemd is being notified starts no watchdog', async (t) => {
  const interval = t.mock.method(globalThis, 'setInterval')
  const env = { NOTIFY_SOCKET: '/nowhere', WATCHDOG_USEC: '1000' }
  const notifier = createSystemdNotifier(env, { warn() {} })
  const isReady = notifier.ready('listening')
  notifier.close()
  await isReady
  assert.equal(interval.mock.callCount(), 0)
})

test('the daemon ignores the watchdog of another process, and warns once about a missing socket', async () => {
  const warnings: unknown[] = []
  const log = { warn: (...words: unknown[]) => void warnings.push(words) }
  const notifier = createSystemdNotifier(
    { NOTIFY_SOCKET: '/nowhere', WATCHDOG_USEC: '1000', WATCHDOG_PID: '1' },
    log,
  )
  await notifier.ready('listening')
  notifier.stopping()
  notifier.close()
  assert.ok(warnings.length <= 1)
  await createSystemdNotifier({}, log).ready('listening')
})
