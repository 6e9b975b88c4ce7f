import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { configJsonSchema } from '../../src/config/json-schema.ts'
import { pathGet } from '../../src/core/json.ts'
import { isMatchKey } from '../../src/core/match.ts'
import { transports as shipped } from '../../transports/registry.ts'
import { transports } from './given.ts'

describe('the JSON Schema for editors', () => {
  const schema = configJsonSchema(transports)

  test('has the own keys of each transport, and the common ones', () => {
    const gateway = pathGet(schema, 'properties.gateways.additionalProperties')
    assert.deepEqual(pathGet(gateway, 'properties.transport.enum'), ['webhook', 'websocket', 'slack'])
    const slack = pathGet(gateway, 'allOf.2')
    assert.deepEqual(pathGet(slack, 'if.properties.transport'), { const: 'slack' })
    const keys = ['transport', 'enabled', 'open', 'receive', 'mode', 'botToken', 'answers']
    assert.deepEqual(Object.keys(Object(pathGet(slack, 'then.properties'))), keys)
    assert.equal(pathGet(slack, 'then.additionalProperties'), false)
    assert.deepEqual(pathGet(slack, 'then.required'), ['botToken'])
  })

  test('has the match keys, and a pattern for keys of headers and data', () => {
    const match = pathGet(schema, 'properties.routes.items.properties.match')
    assert.ok(Object.keys(Object(pathGet(match, 'properties'))).every(isMatchKey))
    assert.equal(pathGet(match, 'additionalProperties'), false)
    const [pattern = ''] = Object.keys(Object(pathGet(match, 'patternProperties')))
    for (const key of ['header.X-Kind', 'data.body.pull_request.number'])
      assert.match(key, new RegExp(pattern))
    for (const key of ['data', 'data.', 'data..a', 'headers.x', 'xdata.a'])
      assert.doesNotMatch(key, new RegExp(pattern))
  })

  test('allows a variable in place of a number, a boolean or an enum', () => {
    const variable = { type: 'string', pattern: '\\$\\{' }
    const route = pathGet(schema, 'properties.routes.items.properties')
    for (const key of ['concurrency', 'approval.anyOf.0', 'reply']) {
      assert.deepEqual(pathGet(route, `${key}.anyOf.1`), variable, key)
    }
    assert.equal(pathGet(route, 'skill.anyOf'), undefined)
  })

  test('writes the defaults of durations, sizes and rates as people do', () => {
    const [email] = shippedBranches('email')
    assert.equal(pathGet(email, 'properties.sweep.default'), '1m')
    assert.equal(pathGet(email, 'properties.max-size.default'), '25mb')
    assert.equal(pathGet(email, 'properties.rate-limit.default'), '60/1m')
  })

  test('has both modes of a Slack gateway, each with the common keys', () => {
    const modes = shippedBranches('slack')
    assert.deepEqual(
      modes.map((mode) => pathGet(mode, 'properties.mode.const')),
      ['socket', 'http'],
    )
    for (const mode of modes) {
      assert.ok(pathGet(mode, 'properties.enabled'))
      assert.ok(pathGet(mode, 'properties.bot-token'))
    }
  })

  test('includes every transport of the package', () => {
    const complete = configJsonSchema(shipped)
    assert.deepEqual(
      pathGet(complete, 'properties.gateways.additionalProperties.properties.transport.enum'),
      Object.keys(shipped),
    )
    assert.deepEqual(JSON.parse(JSON.stringify(complete)), complete)
  })
})

/** The schemas of a shipped transport's options: one, or one per mode. */
function shippedBranches(kind: string) {
  const branches = [
    pathGet(configJsonSchema(shipped), 'properties.gateways.additionalProperties.allOf'),
  ].flat()
  const branch =
    branches.find((each) => pathGet(each ?? null, 'if.properties.transport.const') === kind) ?? null
  return [pathGet(branch, 'then.oneOf') ?? pathGet(branch, 'then') ?? null].flat()
}
