import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, describe, test } from 'node:test'
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

/** A real server that refuses at one step. */
async function refusing(options: SMTPServerOptions): Promise<number> {
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

/** A server that follows a script: the answer to each command; `undefined` is silence. */
async function scripted(
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
        const said = answer(body === undefined ? line : '.')
        body = body === undefined && line === 'DATA' && said?.startsWith('354') ? '' : undefined
        if (said !== undefined) socket.write(`${said}\r\n`)
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

const polite = (line: string) =>
  line.startsWith('EHLO') ? '250 ok' : line === 'DATA' ? '354 go on' : line === 'QUIT' ? '221 bye' : '250 ok'
/** Answers politely, but for one command. */
const but = (start: string, said: string | undefined) => (line: string) =>
  line.startsWith(start) ? said : polite(line)

const smtpOn = (port: number, more: object = {}) => {
  const smtp = createSmtp('support', { host: '127.0.0.1', port, tls: 'none', ...more }, undefined, FAST)
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
    () => assert.fail('it was sent'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof Error && 'code' in error)
  return { code: error.code, message: error.message }
}

describe('what an SMTP server refuses', () => {
  const session: Record<string, () => Promise<[port: number, more?: object]>> = {
    'the greeting: 554 no service': async () => [(await scripted(polite, '554 no SMTP service here')).port],
    'the greeting, by its own hook': async () => [
      await refusing({ onConnect: (_, done) => done(refusal(554, 'your address is blocked')) }),
    ],
    'the greeting, without a code': async () => [(await scripted(polite, 'HTTP/1.1 400 Bad Request')).port],
    'EHLO and HELO': async () => {
      const answer = (line: string) => (/^(?:EHLO|HELO)/.test(line) ? '550 bad name' : polite(line))
      return [(await scripted(answer)).port]
    },
    'STARTTLS that is needed': async () => [
      (await scripted(but('STARTTLS', '502 not implemented'))).port,
      { tls: 'starttls' },
    ],
    'the login': async () => [
      await refusing({
        disabledCommands: ['STARTTLS'],
        allowInsecureAuth: true,
        onAuth: (_auth, _session, done) => done(refusal(535, 'wrong password')),
      }),
      { user: 'u', pass: 'wrong' },
    ],
    'the login, for the account is blocked': async () => [
      await refusing({
        disabledCommands: ['STARTTLS'],
        allowInsecureAuth: true,
        onAuth: (_auth, _session, done) => done(refusal(554, '5.7.0 account is locked')),
      }),
      { user: 'u', pass: 'p' },
    ],
  }
  for (const code of [530, 550, 553, 554, 501])
    session[`MAIL FROM with ${code}`] = async () => [
      await refusing({
        onMailFrom: (_address, _session, done) => done(refusal(code, 'not from this sender')),
      }),
    ]
  session['RCPT TO with 530, for nobody logged in'] = async () => [
    await refusing({
      onRcptTo: (_address, _session, done) => done(refusal(530, '5.7.0 Authentication required')),
    }),
  ]
  session['RCPT TO, for the sender is not ours'] = async () => [
    await refusing({
      onRcptTo: (_address, _session, done) =>
        done(refusal(553, '5.7.1 <a@example.com>: Sender address rejected: not owned by user u')),
    }),
  ]

  const SEND_AS = '5.7.60 SMTP; Client does not have permissions to send as this sender'
  for (const said of [SEND_AS, '5.2.252 SendAsDenied; a@example.com not allowed to send as b@example.com'])
    session[`the content, for the sender: ${said}`] = async () => [
      await refusing({
        onData: (stream, _s, done) => stream.resume().on('end', () => done(refusal(550, said))),
      }),
    ]

  for (const [what, start] of Object.entries(session)) {
    test(`waits where it is ${what}`, async () => {
      const [port, more] = await start()
      const { code, message } = await codeOf(smtpOn(port, more).send(letter, 'k'))
      assert.equal(code, 'send_failed', message)
    })
  }

  const ofMail: Record<string, SMTPServerOptions> = {
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
  for (const [what, options] of Object.entries(ofMail)) {
    test(`is a dead letter where it is ${what}`, async () => {
      const { code, message } = await codeOf(smtpOn(await refusing(options)).send(letter, 'k'))
      assert.equal(code, 'send_rejected', message)
    })
  }
})

describe('an SMTP server that hangs', () => {
  const steps: Record<string, (line: string) => string | undefined> = {
    'after EHLO': but('EHLO', undefined),
    'after MAIL FROM': but('MAIL', undefined),
    'after RCPT TO': but('RCPT', undefined),
    'after DATA': but('DATA', undefined),
  }
  for (const [where, answer] of Object.entries(steps)) {
    test(`${where} is given up in time, and the mail was not taken`, async () => {
      const server = await scripted(answer)
      const began = performance.now()
      const { code, message } = await codeOf(smtpOn(server.port).send(letter, 'k'))
      assert.equal(code, 'send_failed')
      assert.match(message, /did not answer for/)
      await assertPrompt(where, performance.now() - began, 5_000)
      assert.equal(server.mails.length, 0)
    })
  }

  test('before it greets is given up in time', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    closing.push(async () => void silent.close())
    const { code, message } = await codeOf(smtpOn((silent.address() as AddressInfo).port).send(letter, 'k'))
    assert.equal(code, 'send_failed')
    assert.match(message, /did not greet for/)
  })

  test('in the TLS handshake is given up in time', async () => {
    const silent = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    closing.push(async () => void silent.close())
    const { port } = silent.address() as AddressInfo
    const { code } = await codeOf(smtpOn(port, { tls: 'implicit' }).send(letter, 'k'))
    assert.equal(code, 'send_failed')
  })

  test('with a complete mail has longer, and then nobody knows whether it was taken', async () => {
    const server = await scripted(but('.', undefined))
    const smtp = smtpOn(server.port)
    const began = performance.now()
    const { code } = await codeOf(smtp.send(letter, 'k'))
    assert.equal(code, 'send_ambiguous')
    assert.ok(performance.now() - began >= FAST.end)
    assert.equal(server.mails.length, 1)
  })

  test('does not hurt a server that is slow at each step, or an idle connection', async () => {
    let taken = 0
    const slow = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      onMailFrom: (_a, _s, done) => void setTimeout(done, FAST.step / 2),
      onRcptTo: (_a, _s, done) => void setTimeout(done, FAST.step / 2),
      onData: (stream, _s, done) =>
        stream.resume().on('end', () => {
          taken++
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
    assert.equal(taken, 2)
  })
})

describe('the health of a gateway whose SMTP server cannot be used', async () => {
  const mailServer = await startMailServer()
  /** Longer than a busy machine takes to greet. */
  const UNHURRIED = { step: 3000, end: 6000 }
  const gateway = (port: number, more: object = {}, smtpTiming = UNHURRIED) =>
    mailServer.daemon(
      { smtp: { host: '127.0.0.1', port, tls: 'none', ...more } },
      { overrides: { smtpTiming } },
    )
  const red = async (port: number, why: RegExp, more?: object) => {
    const daemon = await gateway(port, more)
    await until(() => why.test(daemon.transport.health().detail ?? ''), `red health: ${why}`)
    assert.equal(daemon.transport.health().ok, false)
    return daemon
  }

  test('is red before the first answer is due: login, greeting, no TLS, hanging, nobody there', async () => {
    const login = await refusing({
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      onAuth: (_auth, _session, done) => done(refusal(535, 'wrong password')),
    })
    await red(login, /no mail can be sent: .*wrong password/, { user: 'u', pass: 'x' })
    await red((await scripted(polite, '554 no service')).port, /no mail can be sent: .*554 no service/)
    await red((await scripted(but('STARTTLS', '502 no'))).port, /no mail can be sent: .*STARTTLS/, {
      tls: 'starttls',
    })
    await red((await scripted(but('EHLO', undefined))).port, /SMTP server (?:did|has) not answer/)
    await red(1, /no mail can be sent: .*ECONNREFUSED/)
  })

  test('is red while the sender is refused, and the answer goes out once when that is mended', async () => {
    let isRefused = true
    const taken: string[] = []
    const port = await refusing({
      onMailFrom: (_address, _session, done) => (isRefused ? done(refusal(550, 'not yours')) : done()),
      onData: (stream, session, done) =>
        stream.resume().on('end', () => {
          taken.push(session.envelope.rcptTo[0]?.address ?? '')
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
    assert.deepEqual(taken, ['anna@example.net'])
    assert.equal(daemon.transport.health().ok, true)
  })

  test('is red while the server keeps a complete mail without an answer', async () => {
    const server = await scripted(but('.', undefined))
    const daemon = await gateway(server.port)
    await until(() => daemon.transport.health().ok, 'green health')
    await mailServer.deliver(mail({}))
    const sending = codeOf(daemon.transport.send(replyTo(await daemon.message(), 'hello')))
    await until(() => /has not answered for/.test(daemon.transport.health().detail ?? ''), 'red health')
    assert.equal((await sending).code, 'send_ambiguous')
  })
})
