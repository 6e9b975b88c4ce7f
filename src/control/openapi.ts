import { catalogue } from '../core/errors.ts'
import { type Json, type JsonObject, pathGet } from '../core/json.ts'

/** What needs no token, and answers with something else than a result. */
const OPEN = { security: [], responses: { 200: { description: 'OK' }, default: ref('responses', 'Error') } }

/** The description of the control API: OpenAPI 3.1, made from the skills' own schemas. */
export function openApi({
  version,
  skills,
  submission,
}: {
  version: string
  skills: Json
  submission: Json
}) {
  const found = Array.isArray(skills) ? skills : []
  const described = found.map((skill) => {
    const [name, summary] = [String(pathGet(skill, 'name')), String(pathGet(skill, 'description'))]
    return { name, summary, schema: asComponent(name, pathGet(skill, 'args')) }
  })
  const named = { parameters: [inPath('name', 'The name of a skill, or the ref of a callback')] }
  const paths = {
    '/healthz': { get: call('healthz', 'The process is alive.', OPEN) },
    '/readyz': { get: call('readyz', 'Messages can come in; 503 where not.', OPEN) },
    '/metrics': { get: call('metrics', 'Counts, for Prometheus.', OPEN) },
    '/openapi.json': { get: call('openapi', 'This description.', OPEN) },
    '/docs': { get: call('docs', 'This description, to read.', OPEN) },
    '/v1/proof/{nonce}': {
      get: call('proof', 'Proves to a program on this machine that the daemon knows the control token.', {
        ...OPEN,
        parameters: [inPath('nonce', 'Any text; the answer is made of it and the token')],
      }),
    },
    '/v1/status': { get: call('status', 'What runs, and how far behind each road is.') },
    '/v1/doctor': { get: call('doctor', 'What could be wrong with the store and the gateways.') },
    '/v1/reload': { post: call('reload', 'Reads configuration and skills again.') },
    '/v1/messages': {
      post: call(
        'submit',
        'Puts a message through a gateway, as if it had come in there.',
        taking('Submission'),
      ),
    },
    '/v1/messages/{id}/explain': {
      get: call('explain', 'Why each route did or did not take a message.', {
        parameters: [inPath('id', 'The id of a message')],
      }),
    },
    '/v1/skills': { get: call('skills', 'All skills, and what they take.') },
    '/v1/skills/{name}': {
      get: call('skill', 'What a skill takes, and the layers around it.', named),
      post: call('invoke', 'Invokes a skill by name, or a callback.', { ...named, ...taking() }),
    },
    '/mcp': { post: call('mcp', 'Model Context Protocol over streamable HTTP.', taking()) },
    ...Object.fromEntries(
      described.map(({ name, summary }) => [
        `/v1/skills/${name}`,
        { post: call(`skill-${name}`, summary, taking(name)) },
      ]),
    ),
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Trivium', version, description: 'The control API. Every skill is a call.' },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      responses: {
        Result: answer('The result', { result: {} }),
        Error: answer('What is wrong, and what to do', {
          error: {
            type: 'object',
            properties: { code: { enum: Object.keys(catalogue) }, message: { type: 'string' } },
            required: ['code', 'message'],
          },
        }),
      },
      schemas: Object.fromEntries([
        ['Submission', asComponent('Submission', submission)],
        ...described.map(({ name, schema }) => [name, schema]),
      ]),
    },
  }
}

function call(operationId: string, summary: string, more: JsonObject = {}): JsonObject {
  const responses = { 200: ref('responses', 'Result'), default: ref('responses', 'Error') }
  return { operationId, summary, responses, ...more }
}

/** What a body looks like: a schema of the components, or any JSON. */
function taking(schema?: string): JsonObject {
  const content = { 'application/json': { schema: schema === undefined ? {} : ref('schemas', schema) } }
  return { requestBody: { required: true, content } }
}

function inPath(name: string, description: string): JsonObject {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } }
}

function answer(description: string, properties: JsonObject): JsonObject {
  const schema = { type: 'object', properties, required: Object.keys(properties) }
  return { description, content: { 'application/json': { schema } } }
}

function ref(part: string, name: string): JsonObject {
  return { $ref: `#/components/${part}/${name}` }
}

/** A schema's references are relative to itself; inside a document they name the place where it stands. */
function asComponent(name: string, schema: unknown): Json {
  const { $schema: _dialect, ...rest } = Object(schema)
  return JSON.parse(JSON.stringify(rest).replaceAll('"$ref":"#', `"$ref":"#/components/schemas/${name}`))
}
