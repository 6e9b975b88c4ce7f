import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import { code, page, table } from './markdown.ts'
import { objectAt } from './object-at.ts'

const INTRODUCTION = `Every call of the control API (\`http://127.0.0.1:8787\`). A running daemon serves this description as
\`/openapi.json\` and, for people, at \`/docs\`; [the control API](../api.md) explains tokens, results and errors.`

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/**
 * docs/reference/http.md: the calls of an OpenAPI description, with skills in a section of their
 * own.
 */
export function httpPage(openapi: JsonObject): string {
  const calls = Object.entries(isJsonObject(openapi.paths) ? openapi.paths : {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = isJsonObject(item) ? item[method] : undefined
      if (!isJsonObject(operation)) return []
      return [{ call: `${method.toUpperCase()} ${path}`, operation }]
    }),
  )
  type Call = (typeof calls)[number]
  const row = ({ call, operation }: Call) => [code(call), String(operation.summary ?? '')]
  const skillRow = (call: Call) => [...row(call), argumentsOf(openapi, call.operation)]
  const skills = calls.filter((each) => isSkill(each) && !INTERNAL.test(each.call))
  const others = calls.filter((each) => !isSkill(each))
  return page('HTTP calls', INTRODUCTION, [
    '## The daemon',
    table(['Call', 'What it does'], others.map(row)),
    '## Skills',
    `The body is a JSON object with the arguments; \`*\` marks required ones. [The commands](commands.md) and \`/docs\` explain
them. The skills behind the buttons and words of approvals and handovers are left out.
The command \`trivium message list\` calls the skill \`message-search\`, which has more filters than the
skill \`message-list\`.`,
    table(['Call', 'What it does', 'Arguments'], skills.map(skillRow)),
  ])
}

/** Whether it is a call of one skill. The calls for any skill have `{name}` in their path. */
function isSkill({ call }: { call: string }): boolean {
  return /^POST \/v1\/skills\/[^{]+$/.test(call)
}

/** The skills behind the buttons and words of approvals and handovers. */
const INTERNAL = /\/(approval-click|approval-words|handover-click)$/

/** The names of the arguments, required ones with a star. */
function argumentsOf(openapi: JsonObject, operation: JsonObject): string {
  const { $ref } = objectAt(operation, 'requestBody', 'content', 'application/json', 'schema')
  const schema = objectAt(openapi, 'components', 'schemas', String($ref).split('/').at(-1) ?? '')
  const required = Array.isArray(schema.required) ? schema.required : []
  const names = Object.keys(objectAt(schema, 'properties'))
  return names.map((name) => `${code(name)}${required.includes(name) ? '*' : ''}`).join(', ') || '–'
}
