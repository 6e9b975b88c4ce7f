import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'

const PAY = `import { z } from 'zod'
export default {
  description: 'Pays',
  args: z.strictObject({ amount: z.number().max(500), to: z.object({ city: z.string(), postCode: z.string() }), currency: z.enum(['EUR', 'USD']) }),
  run: () => 'paid',
}`

describe('the details of invalid input', { timeout: 300_000 }, () => {
  const suite = suiteWithDaemon({ routes: 'routes: [{ name: all, skill: echo }]\n', skills: { pay: PAY } })
  const ask = async (method: string, path: string, body?: object) => {
    const { control, token } = suite.daemon
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const json = body && { body: JSON.stringify(body) }
    const response = await fetch(control + path, { method, headers, ...json })
    return { status: response.status, error: Object(await response.json()).error }
  }

  test('name each argument by its path; the message contains the same in one line', async () => {
    const { status, error } = await ask('POST', '/v1/skills/pay', {
      amount: 501,
      to: { city: 7 },
      currency: 'EURO',
      adress: 'x',
    })
    assert.equal(status, 422)
    assert.deepEqual(error, {
      code: 'skill_args_invalid',
      message:
        'Invalid arguments for skill pay: amount: expected at most 500; to.city: expected string, received number; to.postCode is missing; currency: expected one of EUR, USD; did you mean "EUR"?; unknown argument "adress"',
      details: [
        { path: 'amount', message: 'expected at most 500' },
        { path: 'to.city', message: 'expected string, received number' },
        { path: 'to.postCode', message: 'is missing' },
        { path: 'currency', message: 'expected one of EUR, USD; did you mean "EUR"?' },
        { path: 'adress', message: 'unknown argument' },
      ],
    })
    const { error: ofList } = await ask('POST', '/v1/skills/pay', [1])
    assert.equal(ofList.details.length, 1)
    assert.equal(ofList.details[0].path, '')
  })

  test('are also returned by other routes, and for arguments that a skill itself checks', async () => {
    const message = await ask('POST', '/v1/messages', { text: 7 })
    assert.equal(message.error.code, 'bad_request')
    assert.deepEqual(message.error.details.map(Object.values), [
      ['gateway', 'is missing'],
      ['text', 'expected string, received number'],
    ])
    assert.doesNotMatch(message.error.message, /\n|✖/)
    const stream = await ask('GET', '/v1/stream?search=after%3Asoonish')
    assert.deepEqual(
      stream.error.details.map(({ path }: { path: string }) => path),
      ['search'],
    )
    const push = await ask('POST', '/v1/skills/subscription-create', {
      name: 'crm',
      url: 'https://example.com',
      oauth: { tokenUrl: 'x', clientId: 'a', clientSecret: 'b' },
    })
    assert.deepEqual(
      push.error.details.map(({ path }: { path: string }) => path),
      ['oauth.tokenUrl'],
    )
  })

  test('are absent from other errors, and part of the OpenAPI document', async () => {
    const { error } = await ask('POST', '/v1/skills/nothing', {})
    assert.deepEqual(Object.keys(error), ['code', 'message'])
    const { control, token } = suite.daemon
    const response = await fetch(`${control}/openapi.json`, { headers: { authorization: `Bearer ${token}` } })
    const { properties } = Object(await response.json()).components.schemas.Error
    assert.deepEqual(Object.keys(properties.details.items.properties), ['path', 'message'])
  })

  test('name flags on the command line, and are the same as over HTTP with --json', async () => {
    const { site } = suite
    const { code, err } = await site.run([
      'pay',
      '--amount',
      '501',
      '--currency',
      'EUR',
      '--to',
      '{"city":"Ghent"}',
    ])
    assert.equal(code, 2)
    assert.equal(
      err.trim(),
      'trivium: --amount: expected at most 500; --to.postCode is missing. See `trivium pay --help`.',
    )
    const json = await site.run(['pay', '--amount', '501', '--json'])
    const { error } = JSON.parse(json.err)
    assert.match(error.message, /^Invalid arguments for skill pay: amount/)
    assert.deepEqual(error.details[0], { path: 'amount', message: 'expected at most 500' })
  })

  test('the help of a group has the options of the command that it runs by default', async () => {
    const { site } = suite
    const { out } = await site.run(['message', '--help'])
    for (const option of ['--conversation <id>', '--explain', '--wait <ms or duration>', '<command>'])
      assert.ok(out.includes(option), `${option} in ${out}`)
    assert.match((await site.run(['dead-letter', '--help'])).out, /--route <name>/)
    assert.match(out, /With <gateway> <text...> instead of a command, it is message send/)
    const alone = await site.run(['message'])
    assert.equal(alone.code, 0)
    assert.equal(alone.err, 'No messages.\n')
  })
})
