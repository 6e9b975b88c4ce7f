import { isJsonObject, type JsonObject } from '../../src/core/json.ts'
import { code, page, table } from './markdown.ts'

const INTRODUCTION = `Every call of the control API (\`http://127.0.0.1:8787\`). A running daemon serves this description as
\`/openapi.json\` and, for people, at \`/docs\`; [the control API](../api.md) explains tokens, results and errors.`

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/** docs/reference/http.md: the calls of an OpenAPI description, skills apart from the rest. */
export function httpPage(openapi: JsonObject): string {
  const calls = Object.entries(isJsonObject(openapi.paths) ? openapi.paths : {}).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = isJsonObject(item) ? item[method] : undefined
      if (!isJsonObject(operation)) return []
      return [{ call: `${method.toUpperCase()} ${path}`, operation }]
    }),
  )
  const row = ({ call, operation }: (typeof calls)[number]) => [code(call), String(operation.summary ?? '')]
  const isSkill = ({ call }: { call: string }) => call.includes('/v1/skills/')
  const skillRow = (one: (typeof calls)[number]) => [...row(one), argumentsOf(openapi, one.operation)]
  return page('HTTP calls', INTRODUCTION, [
    '## The daemon',
    table(['Call', 'What it does'], calls.filter((each) => !isSkill(each)).map(row)),
    '## Skills',
    `The body is a JSON object with the arguments; \`*\` marks required ones. [The commands](commands.md) and \`/docs\` explain
them. Skills that only Trivium itself calls, such as the handlers of buttons, are left out.
\`trivium message list\` calls \`message-search\`, which has more filters than \`message-list\`.`,
    table(
      ['Call', 'What it does', 'Arguments'],
      calls.filter((each) => isSkill(each) && !INTERNAL.test(each.call)).map(skillRow),
    ),
  ])
}

/** Handlers of clicks and words in messages. */
const INTERNAL = /(approval|handover)-(click|words)$/

/** The names of the arguments, required ones with a star. */
function argumentsOf(openapi: JsonObject, operation: JsonObject): string {
  const { $ref } = at(operation, 'requestBody', 'content', 'application/json', 'schema')
  const schema = at(openapi, 'components', 'schemas', String($ref).split('/').at(-1) ?? '')
  const required = Array.isArray(schema.required) ? schema.required : []
  const names = Object.keys(at(schema, 'properties'))
  return names.map((name) => `${code(name)}${required.includes(name) ? '*' : ''}`).join(', ') || '–'
}

function at(value: JsonObject, ...path: string[]): JsonObject {
  return path.reduce((from: JsonObject, key) => {
    const next = from[key]
    return isJsonObject(next) ? next : {}
  }, value)
}
