import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Skill } from '../../src/core/skill.ts'
import { skillJsonSchema } from '../../src/core/skill.ts'
import { mcpServerSchema } from '../../src/runtime/mcp/schema.ts'
import { createMcpServers } from '../../src/runtime/mcp/servers.ts'
import { readTools } from '../../src/runtime/mcp/tool-list.ts'
import { toolSchema } from '../../src/runtime/model/tools.ts'
import fc from '../fixtures/fast-check.ts'
import { createMemoryStore } from '../fixtures/memory-store.ts'
import { cleanup } from './support/cleanup.ts'
import { createFolder } from './support/folder.ts'
import { createMemoryLog } from './support/log.ts'
import { startRuntime } from './support/runtime.ts'

const SERVER = fileURLToPath(new URL('../fixtures/mcp-server.mjs', import.meta.url))
const WORDS = { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] }
const valid = { name: 'say', description: 'Says words.', inputSchema: WORDS }

/** Invalid tools that real servers list, with the bug report, and whether each becomes a skill. */
const ODD: [report: string, tool: unknown, isSkill: boolean][] = [
  [
    'opentokenz/mcpx 28: outputSchema without type',
    { ...valid, outputSchema: { $id: 'x.v1', description: 'a' } },
    true,
  ],
  [
    'ThinkInAIXYZ/deepchat 2075: invalid outputSchema',
    { ...valid, outputSchema: { type: 'object', properties: { a: { type: 'list' } } } },
    true,
  ],
  ['opentokenz/mcpx 28: output without structured content', { ...valid, outputSchema: WORDS }, true],
  ['zereight/gitlab-mcp 286: empty inputSchema', { name: 'say', inputSchema: {} }, true],
  ['IvanMurzak/Unity-MCP 440: null inputSchema', { name: 'say', inputSchema: null }, true],
  ['openclaw 63602: no type', { name: 'say', inputSchema: { properties: WORDS.properties } }, true],
  [
    'claude-code 88049: root anyOf',
    { name: 'say', inputSchema: { anyOf: [WORDS, { type: 'object' }] } },
    true,
  ],
  ['openclaw 112667: root oneOf', { name: 'say', inputSchema: { oneOf: [WORDS] } }, true],
  [
    'claude-code 95504: root allOf with if',
    { name: 'say', inputSchema: { type: 'object', allOf: [JSON.parse('{"if":{},"then":{}}')] } },
    true,
  ],
  ['root $ref', { name: 'say', inputSchema: { $ref: '#/$defs/Words', $defs: { Words: WORDS } } }, true],
  ['PraisonAI 3111: required null', { name: 'say', inputSchema: { ...WORDS, required: null } }, true],
  [
    'required true in a property',
    {
      name: 'say',
      inputSchema: { type: 'object', properties: { words: { type: 'string', required: true } } },
    },
    true,
  ],
  ['description null', { ...valid, description: null }, true],
  ['title null, icons text', { ...valid, title: null, icons: 'none', _meta: 'x', execution: 7 }, true],
  ['hints as words', { ...valid, annotations: { readOnlyHint: 'yes', destructiveHint: 'false' } }, true],
  ['annotations as a list', { ...valid, annotations: ['readOnly'] }, true],
  [
    'type names of other languages',
    { name: 'say', inputSchema: { type: 'dict', properties: { words: { type: 'str' } } } },
    true,
  ],
  [
    'a draft-4 schema',
    {
      name: 'say',
      inputSchema: {
        ...WORDS,
        $schema: 'http://json-schema.org/draft-04/schema#',
        properties: { words: { type: 'string' }, n: { type: 'number', minimum: 0, exclusiveMinimum: true } },
      },
    },
    true,
  ],
  [
    'Unity-MCP 440: array without items',
    { name: 'say', inputSchema: { type: 'object', properties: { list: { type: 'array' } } } },
    true,
  ],
  ['a schema of which nothing compiles', { name: 'say', inputSchema: { ...WORDS, $ref: '#/nowhere' } }, true],
  ['atlas-ui-3 727: a text for arguments', { name: 'say', inputSchema: { type: 'string' } }, false],
  ['no name', { description: 'x', inputSchema: WORDS }, false],
  ['a number for a name', { name: 7, inputSchema: WORDS }, false],
  ['null in the list', null, false],
  ['a name of a megabyte', { name: 'n'.repeat(1_000_000), inputSchema: WORDS }, false],
]

/** Connects to a server over stdio that lists `tools`. */
async function connect(t: TestContext, tools: unknown[]) {
  const folder = await createFolder(t)
  const file = join(folder, 'tools.json')
  writeFileSync(file, JSON.stringify(tools))
  const command = { command: process.execPath, args: [SERVER, file] }
  const log = createMemoryLog()
  let skills: readonly Skill[] = []
  const servers = createMcpServers({
    version: '1',
    kv: createMemoryStore().kv,
    login: async () => undefined,
    log,
  })
  servers.onChange((all) => {
    skills = all
  })
  cleanup(t, () => servers.close())
  await servers.use([{ ...mcpServerSchema.parse(command), name: 'hand', folder }], { connect: true })
  const { manager } = await startRuntime(t, { skills: [...skills] })
  return { skills, servers, manager, log }
}

describe('a server with an odd tool', () => {
  test('keeps its other tools, and reports which are invalid or skipped', async (t) => {
    const twin = { name: 'twin', inputSchema: { type: 'object' } }
    const odd = ODD.map(([, tool], index) => {
      const isSay = typeof tool === 'object' && tool && 'name' in tool && tool.name === 'say'
      return isSay ? { ...tool, name: `say-${index}` } : tool
    })
    const { skills, servers, manager } = await connect(t, [twin, ...odd, { ...twin, description: 'twice' }])
    const names = skills.map(({ name }) => name)
    const repaired = ODD.flatMap(([, , isSkill], index) => (isSkill ? `hand.say-${index}` : []))
    assert.deepEqual(names, ['hand.twin', ...repaired])
    for (const name of repaired) {
      assert.equal(await manager.invoke(name, { words: 'hello' }), 'hello', name)
    }
    const [{ faults = [], ok, tools } = { ok: false, tools: 0 }] = servers.list()
    assert.deepEqual([ok, tools], [true, names.length])
    const skipped = faults.filter((fault) => fault.skipped)
    const secondTwin = 1
    assert.equal(skipped.length, ODD.length - repaired.length + secondTwin)
    assert.ok(skipped.some(({ tool, reason }) => tool === 'twin' && /same name/.test(reason)))
    const requiredNull = `say-${ODD.findIndex(([report]) => report.includes('required null'))}`
    assert.ok(faults.some(({ tool, reason }) => tool === requiredNull && /"required"/.test(reason)))
  })

  for (const [report, tool, isSkill] of ODD) {
    test(`${isSkill ? 'repairs' : 'skips'} ${report}`, () => {
      const { tools, faults } = readTools([tool, { ...valid, name: 'other' }])
      assert.deepEqual(
        tools.map(({ name }) => name),
        isSkill ? ['say', 'other'] : ['other'],
      )
      if (!isSkill) assert.equal(faults.filter(({ skipped }) => skipped).length, 1)
    })
  }

  test('still validates arguments by the repaired schema, which is a plain object for models', async (t) => {
    const { skills, manager } = await connect(t, [
      { name: 'say', inputSchema: { ...WORDS, $schema: 7, additionalProperties: null } },
      { name: 'say-ref', inputSchema: { $ref: '#/definitions/W', definitions: { W: WORDS } } },
    ])
    for (const name of ['hand.say', 'hand.say-ref']) {
      await assert.rejects(manager.invoke(name, { words: 7 }), { code: 'skill_args_invalid' })
      await assert.rejects(manager.invoke(name, {}), { code: 'skill_args_invalid' })
    }
    for (const skill of skills) {
      const schema = toolSchema(skillJsonSchema(skill))
      assert.deepEqual([schema.type, schema.properties], ['object', WORDS.properties])
    }
  })

  test('keeps properties beside the alternatives of a schema, which may only say what is required', () => {
    const properties = { id: { type: 'string' }, name: { type: 'string' }, at: { type: 'string' } }
    const schema = { type: 'object', properties, required: ['at'] }
    const either = [{ required: ['id'] }, { required: ['name'] }]
    const expected = { type: 'object', properties, required: ['at'] }
    assert.deepEqual(toolSchema({ ...schema, anyOf: either }), expected)
    assert.deepEqual(toolSchema({ ...schema, oneOf: either }), expected)
    assert.deepEqual(toolSchema({ ...schema, allOf: either }), {
      ...expected,
      required: ['at', 'id', 'name'],
    })
  })

  test('an unreadable hint counts as destructive', () => {
    const hints = (annotations: object) => readTools([{ ...valid, annotations }]).tools[0]?.annotations
    assert.deepEqual(hints({ destructiveHint: 'perhaps' }), { destructiveHint: true })
    assert.deepEqual(hints({ destructiveHint: null, readOnlyHint: 'perhaps' }), undefined)
    assert.deepEqual(hints({ readOnlyHint: 'NO', idempotentHint: 1 }), {
      readOnlyHint: false,
      idempotentHint: true,
    })
  })

  test('any list of tools can be read, keeps a valid tool, and gives JSON', () => {
    const anything = fc.jsonValue({ maxDepth: 5 })
    const key = fc.constantFrom(
      'type',
      'required',
      'properties',
      'items',
      'enum',
      '$ref',
      'anyOf',
      '$defs',
      'pattern',
      '__proto__',
    )
    const schema = fc.dictionary(key, fc.oneof(anything, fc.dictionary(key, anything)))
    const tool = fc.oneof(
      anything,
      fc.record({ name: anything, description: anything, inputSchema: schema, annotations: anything }),
    )
    fc.assert(
      fc.property(fc.array(tool, { maxLength: 4 }), (odd) => {
        const { tools } = readTools([...JSON.parse(JSON.stringify(odd)), { ...valid, name: 'the valid one' }])
        assert.ok(tools.some(({ name }) => name === 'the valid one'))
        assert.deepEqual(JSON.parse(JSON.stringify(tools)), tools)
        for (const { inputSchema } of tools) assert.equal(inputSchema.type, 'object')
      }),
    )
  })

  test('cuts a schema that is nested 100,000 levels deep', () => {
    const deep = `${'{"properties":{"a":'.repeat(100_000)}{}${'}}'.repeat(100_000)}`
    const list = `{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const { tools } = readTools(
      [deep, list].map((text, index) => ({ name: `t${index}`, inputSchema: JSON.parse(text) })),
    )
    assert.equal(tools.length, 2)
    assert.ok(JSON.stringify(tools).length < 5_000)
  })
})
