// The proxies with TLS of ops/, each in front of a real daemon.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, type RequestOptions, request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { WebSocket } from 'ws'
import { proxyServer } from '../../ops/system-packages.ts'
import { temporaryDir } from '../fixtures/folder.ts'
import { freePorts } from '../fixtures/redis-server.ts'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  jobs: { transport: webhook, path: /hooks/jobs, verify: { scheme: bearer, secret: a-long-secret }, respond: result }
  chat: { transport: websocket, path: /ws, tokens: { ada: a-long-token } }
  work: { transport: webhook, path: /hooks/work, verify: { scheme: bearer, secret: a-long-secret } }
tokens:
  - { name: worker, token: the-token-of-a-worker, skills: [gateway-receive, gateway-ack], gateways: [work] }
routes: [{ name: rest, match: { gateway: [jobs, chat] }, skill: echo }]
`

const TOKEN = 'the-token-of-a-worker'

describe('a proxy of ops/', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: ROUTES })

  for (const name of ['caddy', 'nginx'] as const) {
    test(`${name} forwards webhooks and WebSockets, and the console for its own network`, async (t) => {
      const binary = proxyServer(name)
      if (binary === undefined) return t.skip(`there is no ${name} here: install the Debian package`)
      const { daemon } = suite
      const port = await (name === 'caddy' ? startCaddy : startNginx)(t, binary, daemon)
      const ask = (host: string, options: RequestOptions, body = '') =>
        send(
          {
            port,
            servername: host,
            headers: { host, connection: 'close', authorization: 'Bearer a-long-secret' },
            ...options,
          },
          body,
        )
      await until(() => ask('hooks.example.com', { path: '/' }).catch(() => undefined), `${name} to listen`)

      const answer = await ask('hooks.example.com', { method: 'POST', path: '/hooks/jobs' }, 'hello')
      assert.equal(JSON.parse(answer).reply, 'You said: hello')
      assert.match(await ask('console.example.com', { path: '/healthz' }), /ok/)
      const socket = new WebSocket(`wss://127.0.0.1:${port}/ws?token=a-long-token`, [], {
        agent: new Agent({ rejectUnauthorized: false, servername: 'hooks.example.com' }),
        headers: { host: 'hooks.example.com' },
      })
      const frames: string[] = []
      socket.on('message', (frame) => frames.push(String(frame)))
      socket.on('open', () => socket.send('{"type":"message","text":"hello"}'))
      await until(() => frames.some((frame) => frame.includes('You said: hello')), 'a reply')
      socket.terminate()
    })

    test(`${name} lets a worker receive messages, and reach nothing else`, async (t) => {
      const binary = proxyServer(name)
      if (binary === undefined) return t.skip(`there is no ${name} here: install the Debian package`)
      const { daemon } = suite
      const port = await (name === 'caddy' ? startCaddy : startNginx)(t, binary, daemon)
      const host = 'api.example.com'
      const ask = (path: string, token?: string, body?: string) =>
        send(
          {
            port,
            servername: host,
            path,
            method: body === undefined ? 'GET' : 'POST',
            headers: {
              host,
              connection: 'close',
              'content-type': 'application/json',
              ...(token && { authorization: `Bearer ${token}` }),
            },
          },
          body,
        )
      await until(
        async () => /403/.test(await ask('/').catch((error: unknown) => String(error))),
        `${name} to listen`,
      )
      const call = async (skill: string, args: object) =>
        JSON.parse(await ask(`/v1/skills/${skill}`, TOKEN, JSON.stringify(args))).result
      const waiting = call('gateway-receive', { gateway: 'work', lease: 60_000 })
      await daemon.post('/hooks/work', 'a job', { authorization: 'Bearer a-long-secret' })
      const { text, receipt } = await waiting
      assert.equal(text, 'a job')
      assert.deepEqual(await call('gateway-ack', { receipt }), { ok: true })
      assert.match(await ask('/metrics', TOKEN), /trivium_/)

      await assert.rejects(ask('/metrics'), /403/, 'metrics need a token here')
      await assert.rejects(ask('/v1/skills/gateway-receive', undefined, '{}'), /401/)
      for (const path of ['/v1/status', '/v1/skillset', '/docs', '/queues', '/', '/v1/skills/../status'])
        await assert.rejects(ask(path, daemon.token), /40[034]/, path)
    })
  }
})

type Place = { url: string; control: string }

/** The example with the addresses of this daemon. */
function example(file: string, daemon: Place): string {
  return readFileSync(join('ops', file), 'utf8')
    .replaceAll('127.0.0.1:8080', new URL(daemon.url).host)
    .replaceAll('127.0.0.1:8787', new URL(daemon.control).host)
}

async function startCaddy(t: TestContext, binary: string, daemon: Place): Promise<number> {
  const dir = temporaryDir(t)
  const [port = 0] = await freePorts(1)
  // It issues its own certificates.
  const options = `{\n\tadmin off\n\tskip_install_trust\n\tlocal_certs\n\tauto_https disable_redirects\n\thttps_port ${port}\n}\n`
  const file = join(dir, 'Caddyfile')
  writeFileSync(file, options + example('Caddyfile', daemon))
  const env = { PATH: process.env.PATH, HOME: dir, XDG_DATA_HOME: dir, XDG_CONFIG_HOME: dir }
  run(t, binary, ['run', '--config', file, '--adapter', 'caddyfile'], env)
  return port
}

async function startNginx(t: TestContext, binary: string, daemon: Place): Promise<number> {
  const dir = temporaryDir(t)
  const [port = 0] = await freePorts(1)
  mkdirSync(join(dir, 'tls'))
  const [key, certificate] = ['privkey.pem', 'fullchain.pem'].map((file) => join(dir, 'tls', file))
  const subject = ['-nodes', '-days', '1', '-subj', '/CN=hooks.example.com']
  const made = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    ...subject,
    '-keyout',
    `${key}`,
    '-out',
    `${certificate}`,
  ]
  assert.equal(spawnSync('openssl', made).status, 0)
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = folders.map((name) => `\t${name}_temp_path ${join(dir, name)};`).join('\n')
  const text = example('nginx.conf', daemon)
    .replaceAll('/etc/trivium/tls', join(dir, 'tls'))
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replace('http {', `http {\n\taccess_log off;\n${temporary}`)
  const file = join(dir, 'nginx.conf')
  writeFileSync(file, text)
  run(t, binary, ['-p', dir, '-c', file, '-e', 'stderr', '-g', `daemon off; pid ${join(dir, 'pid')};`])
  return port
}

function run(t: TestContext, binary: string, args: string[], env: NodeJS.ProcessEnv = process.env): void {
  const child = spawn(binary, args, { env, stdio: 'ignore' })
  t.after(() => child.kill())
}

/**
 * Resolves with the body of an answer with status 200, 202 or 404; rejects with any other status.
 */
function send(options: RequestOptions, body?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const all = { host: '127.0.0.1', rejectUnauthorized: false, ...options }
    const outgoing = request(all, (response) => {
      const isExpected = [200, 202, 404].includes(response.statusCode ?? 0)
      if (isExpected) text(response).then(resolve, reject)
      else reject(new Error(`${options.path}: ${response.statusCode}`))
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
