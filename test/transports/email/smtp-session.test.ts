import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { createSmtp } from '../../../transports/email/outbound/smtp.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { until } from '../../fixtures/until.ts'
import { mail, replyTo, startMailServer } from './harness.ts'

const FAST = { step: 300, end: 1200 }
const closing: (() => Promise<void>)[] = []
after(async () => {
  await Promise.all(closing.map((close) => close()))
})

const refusal = (responseCode: number, text: string) => Object.assign(new Error(text), { responseCode })

/** Starts a real server with these hooks. Resolves with its port. */
async function startServer(options: SMTPServerOptions): Promise<number> {
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    ...options,
  })
  server.on('error', () => {})
  const inner = server.listen(0, '127.0.0.1')
  await once(inner, 'listening')
  closing.push(() => new Promise((resolve) => server.close(() => resolve())))
  return (inner.address() as AddressInfo).port
}

/** Starts a server that answers each command with the result of `answer`; undefined: no answer. */
async function startScripted(
  answer: (line: string) => string | undefined,
  greeting: string | undefined = '220 hello',
) {
  const sockets = new Set<Socket>()
  const commands: string[] = []
  const mails: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.write(`${greeting}\r\n`)
    let rest = ''
    let body: string | undefined
    socket.on('data', (bytes) => {
      rest += bytes.toString('latin1')
      for (;;) {
        const end = rest.indexOf('\r\n')
        if (end === -1) return
        const line = rest.slice(0, end)
        rest = rest.slice(end + 2)
        if (body !== undefined && line !== '.') {
          body += `${line}\n`
          continue
        }
        if (body !== undefined) mails.push(body)
        else commands.push(line)
        const response = answer(body === undefined ? line : '.')
        body = body === undefined && line === 'DATA' && response?.startsWith('354') ? '' : undefined
        if (response !== undefined) socket.write(`${response}\r\n`)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, commands, mails }
}

const successful = (line: string) =>
  line.startsWith('EHLO') ? '250 ok' : line === 'DATA' ? '354 go on' : line === 'QUIT' ? '221 bye' : '250 ok'
/** Answers successfully, except for one command. */
const except = (command: string, response: string | undefined) => (line: string) =>
  line.startsWith(command) ? response : successful(line)

const smtpOn = (port: number, more: object = {}, timing = FAST) => {
  const smtp = createSmtp('support', { host: '127.0.0.1', port, tls: 'none', ...more }, undefined, timing)
  closing.push(async () => smtp.close())
  return smtp
}
const letter = {
  messageId: '<m@example.com>',
  from: 'a@example.com',
  to: 'b@example.net',
  subject: 'x',
  text: 'x',
}
const codeOf = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => assert.fail('the mail was sent'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof Error && 'code' in error)
  return { code: error.code, message: error.message }
}

describe('a refusal by an SMTP server', () => {
  /** Refusals because of the session or the account, which may succeed later. */
  const temporary: Record<string, () => Promise<[port: number, more?: object]>> = {
    'the greeting: 554 no service': async () => [
      (await startScripted(successful, '554 no SMTP service here')).port,
    ],
    'the greeting, by its own hook': async () => [
      await startServer({ onConnect: (_, done) => done(refusal(554, 'your address is blocked')) }),
    ],
    'the greeting, without a code': async () => [
      (await startScripted(successful, 'HTTP/1.1 400 Bad Request')).port,
    ],
    'EHLO and HELO': async () => {
      const answer = (line: string) => (/^(?:EHLO|HELO)/.test(line) ? '550 bad name' : successful(line))
      return [(await startScripted(answer)).port]
    },
    'required STARTTLS': async () => [
      (await startScripted(except('STARTTLS', '502 not implemented'))).port,
      { tls: 'starttls' },
    ],
    'the login': async () => [
      await startServer({
        disabledCommands: ['STARTTLS'],
        allowInsecureAuth: true,
        onAuth: (_auth, _session, done) => done(refusal(535, 'wrong password')),
      }),
      { user: 'u', pass: 'wrong' },
    ],
    'the login, because the account is blocked': async () => [
      await startServer({
        disabledCommands: ['STARTTLS'],
        allowInsecureAuth: true,
        onAuth: (_auth, _session, done) => done(refusal(554, '5.7.0 account is locked')),
      }),
      { user: 'u', pass: 'p' },
    ],
  }
  for (const code of [530, 550, 553, 554, 501])
    temporary[`MAIL FROM with ${code}`] = async () => [
      await startServer({
        onMailFrom: (_address, _session, done) => done(refusal(code, 'not from this sender')),
      }),
    ]
  temporary['RCPT TO with 530, because of the missing login'] = async () => [
    await startServer({
      onRcptTo: (_address, _session, done) => done(refusal(530, '5.7.0 Authentication required')),
    }),
  ]
  temporary['RCPT TO, because of the sender'] = async () => [
    await startServer({
      onRcptTo: (_address, _session, done) =>
        done(refusal(553, '5.7.1 <a@example.com>: Sender address rejected: not owned by user u')),
    }),
  ]

  const SEND_AS = '5.7.60 SMTP; Client does not have permissions to send as this sender'
  for (const response of [
    SEND_AS,
    '5.2.252 SendAsDenied; a@example.com not allowed to send as b@example.com',
  ])
    temporary[`the content, because of the sender: ${response}`] = async () => [
      await startServer({
        onData: (stream, _s, done) => stream.resume().on('end', () => done(refusal(550, response))),
      }),
    ]

  for (const [command, start] of Object.entries(temporary)) {
    test(`of ${command} is retried`, async () => {
      const [port, more] = await start()
      const { code, message } = await codeOf(smtpOn(port, more).send(letter, 'k'))
      assert.equal(code, 'send_failed', message)
    })
  }

  /** Refusals because of the mail, which are permanent. */
  const permanent: Record<string, SMTPServerOptions> = {
    'the recipient: 550': { onRcptTo: (_a, _s, done) => done(refusal(550, '5.1.1 no such user')) },
    'the recipient: 552': { onRcptTo: (_a, _s, done) => done(refusal(552, '5.2.2 mailbox full')) },
    'the recipient: 554': { onRcptTo: (_a, _s, done) => done(refusal(554, '5.7.1 Relay access denied')) },
    'the content: 554': {
      onData: (stream, _session, done) => stream.resume().on('end', () => done(refusal(554, '5.7.1 spam'))),
    },
    'the size, at MAIL FROM': {
      onMailFrom: (_a, _s, done) => done(refusal(552, '5.3.4 message size exceeds limit')),
    },
  }
  for (const [command, options] of Object.entries(permanent)) {
    test(`of ${command} is a dead letter`, async () => {
      const { code, message } = await codeOf(smtpOn(await startServer(options)).send(letter, 'k'))
      assert.equal(code, 'send_rejected', message)
    })
  }
})

describe('an SMTP server that hangs', () => {
  const steps: Record<string, (line: string) => string | undefined> = {
    'after EHLO': except('EHLO', undefined),
    'after MAIL FROM': except('MAIL', undefined),
    'after RCPT TO': except('RCPT', undefined),
    'after DATA': except('DATA', undefined),
  }
  for (const [step, answer] of Object.entries(steps)) {
    test(`${step} times out, and the mail was not sent`, async () => {
      const server = await startScripted(answer)
      const began = performance.now()
      const { code, message } = await codeOf(smtpOn(server.port).send(letter, 'k'))
      assert.equal(code, 'send_failed')
      assert.match(message, /did not answer for/)
      await assertPrompt(step, performance.now() - began, 5_000)
      assert.equal(server.mails.length, 0)
    })
  }

  test('before its greeting times out', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    closing.push(async () => void silent.close())
    const { code, message } = await codeOf(smtpOn((silent.address() as AddressInfo).port).send(letter, 'k'))
    assert.equal(code, 'send_failed')
    assert.match(message, /did not greet for/)
  })

  test('in the TLS handshake times out', async () => {
    const silent = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    closing.push(async () => void silent.close())
    const { port } = silent.address() as AddressInfo
    const { code } = await codeOf(smtpOn(port, { tls: 'implicit' }).send(letter, 'k'))
    assert.equal(code, 'send_failed')
  })

  test('after a complete mail has a longer timeout, and the mail is ambiguous', async () => {
    const server = await startScripted(except('.', undefined))
    const smtp = smtpOn(server.port)
    const began = performance.now()
    const { code } = await codeOf(smtp.send(letter, 'k'))
    assert.equal(code, 'send_ambiguous')
    assert.ok(performance.now() - began >= FAST.end)
    assert.equal(server.mails.length, 1)
  })
})

describe('several connections to an SMTP server', () => {
  const letterTo = (to: string, id: string) => ({ ...letter, to, messageId: `<${id}@example.com>` })

  test('wait for their own responses: one that hangs has no longer timeout since another mail is complete', async () => {
    const server = await startScripted((line) =>
      line === '.' || line.includes('silent@') ? undefined : successful(line),
    )
    const smtp = smtpOn(server.port)
    const ended: string[] = []
    const send = (to: string) => codeOf(smtp.send(letterTo(to, to), to)).then(() => ended.push(to))
    const complete = send('complete@example.net')
    await until(() => server.mails.length === 1, 'a complete mail')
    await Promise.all([complete, send('silent@example.net')])
    assert.deepEqual(ended, ['silent@example.net', 'complete@example.net'])
  })

  test('stay open while they are idle, and are not called silent, although others are in use', async () => {
    const timing = { step: 1_500, end: 1_500 }
    let connections = 0
    const port = await startServer({
      onConnect: (_session, done) => {
        connections++
        done()
      },
      onData: (stream, _session, done) => stream.resume().on('end', () => setTimeout(done, 200)),
    })
    const smtp = smtpOn(port, {}, timing)
    let count = 0
    const send = () => smtp.send(letterTo('b@example.net', String(count++)), 'k')
    await Promise.all([send(), send(), send()])
    const end = performance.now() + 2 * timing.end
    let longest = 0
    const sendUntilEnd = async () => {
      while (performance.now() < end) {
        await send()
        longest = Math.max(longest, smtp.silence())
      }
    }
    // Half a mail apart, so that one is in progress all the time.
    await Promise.all([sendUntilEnd(), delay(100).then(sendUntilEnd)])
    await Promise.all([send(), send(), send()])
    assert.equal(connections, 3)
    assert.ok(longest < timing.step, `${longest} ms`)
  })
})

describe('a slow SMTP server', () => {
  test('is used as long as each step is in time, also after the connection was idle', async () => {
    let sent = 0
    const slow = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      onMailFrom: (_a, _s, done) => void setTimeout(done, FAST.step / 2),
      onRcptTo: (_a, _s, done) => void setTimeout(done, FAST.step / 2),
      onData: (stream, _s, done) =>
        stream.resume().on('end', () => {
          sent++
          setTimeout(done, FAST.step * 2)
        }),
    })
    const inner = slow.listen(0, '127.0.0.1')
    await once(inner, 'listening')
    closing.push(() => new Promise((resolve) => slow.close(() => resolve())))
    const smtp = smtpOn((inner.address() as AddressInfo).port)
    await smtp.send(letter, 'k1')
    assert.equal(smtp.silence(), 0)
    await new Promise((resolve) => setTimeout(resolve, FAST.step * 2))
    await smtp.send({ ...letter, messageId: '<m2@example.com>' }, 'k2')
    assert.equal(sent, 2)
  })
})

describe('the health of a gateway whose SMTP server cannot be used', async () => {
  const mailServer = await startMailServer()
  /** Timeouts that a busy machine can keep. */
  const SLOW = { step: 3000, end: 6000 }
  const gateway = (port: number, more: object = {}, smtpTiming = SLOW) =>
    mailServer.daemon(
      { smtp: { host: '127.0.0.1', port, tls: 'none', ...more } },
      { overrides: { smtpTiming } },
    )
  const assertRed = async (port: number, reason: RegExp, more?: object) => {
    const daemon = await gateway(port, more)
    await until(() => reason.test(daemon.transport.health().detail ?? ''), `red health: ${reason}`)
    assert.equal(daemon.transport.health().ok, false)
  }

  test('is red before the first mail: login, greeting, missing TLS, no answer, no connection', async () => {
    const login = await startServer({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(refusal(535, 'wrong password')),
    })
    await assertRed(login, /no mail can be sent: .*wrong password/, { user: 'u', pass: 'x' })
    await assertRed(
      (await startScripted(successful, '554 no service')).port,
      /no mail can be sent: .*554 no service/,
    )
    await assertRed(
      (await startScripted(except('STARTTLS', '502 no'))).port,
      /no mail can be sent: .*STARTTLS/,
      {
        tls: 'starttls',
      },
    )
    await assertRed(
      (await startScripted(except('EHLO', undefined))).port,
      /SMTP server (?:did|has) not answer/,
    )
    await assertRed(1, /no mail can be sent: .*ECONNREFUSED/)
  })

  test('is red while the sender is refused, and the reply is sent once afterwards', async () => {
    let isRefused = true
    const recipients: string[] = []
    const port = await startServer({
      onMailFrom: (_address, _session, done) => (isRefused ? done(refusal(550, 'not yours')) : done()),
      onData: (stream, session, done) =>
        stream.resume().on('end', () => {
          recipients.push(session.envelope.rcptTo[0]?.address ?? '')
          done()
        }),
    })
    const daemon = await gateway(port)
    await mailServer.deliver(mail({}))
    const reply = replyTo(await daemon.message(), 'hello')
    const { code, message } = await codeOf(daemon.transport.send(reply))
    assert.equal(code, 'send_failed')
    assert.match(message, /MAIL FROM.*check `address`/)
    assert.match(daemon.transport.health().detail ?? '', /mail cannot be sent: .*not yours/)
    isRefused = false
    await daemon.transport.send(reply)
    await daemon.transport.send(reply)
    assert.deepEqual(recipients, ['anna@example.net'])
    assert.equal(daemon.transport.health().ok, true)
  })

  test('is red while the server does not answer a complete mail', async () => {
    const server = await startScripted(except('.', undefined))
    const daemon = await gateway(server.port)
    await until(() => daemon.transport.health().ok, 'green health')
    await mailServer.deliver(mail({}))
    const sending = codeOf(daemon.transport.send(replyTo(await daemon.message(), 'hello')))
    await until(() => /has not answered for/.test(daemon.transport.health().detail ?? ''), 'red health')
    assert.equal((await sending).code, 'send_ambiguous')
  })
})
