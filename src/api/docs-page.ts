import { escapeUTF8 } from 'entities/escape'
import { isJsonObject, type Json, pathGet } from '../core/json.ts'
import type { openApi } from './openapi.ts'

/**
 * The API description as an HTML page: a heading per call, a row per argument. Loads nothing from
 * elsewhere.
 */
export function docsPage(document: ReturnType<typeof openApi>): string {
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(Object(operations)).map(([method, operation]) => {
      const reference = pathGet(operation, 'requestBody.content.application/json.schema.$ref')
      const schema = pathGet(document.components, `schemas.${String(reference).split('/').at(-1)}`)
      const id = escapeUTF8(`${method}${path}`)
      return `<h2 id="${id}"><a href="#${id}"><code>${method.toUpperCase()} ${escapeUTF8(path)}</code></a></h2>
<p>${escapeUTF8(String(pathGet(operation, 'summary')))}</p>${argumentsTable(schema)}`
    }),
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trivium: the control API</title><link rel="stylesheet" href="console.css"><link rel="icon" href="data:,"></head>
<body><header><h1>The control API of Trivium ${escapeUTF8(document.info.version)}</h1></header>
<p>Send <code>authorization: Bearer TOKEN</code>, with the token from <code>&lt;data dir&gt;/control-token</code>, and arguments as
JSON. An answer is <code>{"result"}</code> or <code>{"error":{"code","message"}}</code>. For programs: <a href="openapi.json">openapi.json</a>.</p>
${calls.join('\n')}
</body></html>`
}

function argumentsTable(schema: unknown): string {
  const properties = pathGet(schema, 'properties')
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return ''
  const required = new Set([pathGet(schema, 'required')].flat())
  const rows = Object.entries(properties).map(([name, property]) => {
    const { default: fallback, description = '' } = Object(property)
    const shownDefault = fallback === undefined ? '' : JSON.stringify(fallback)
    const need = required.has(name) ? 'required' : shownDefault
    const cells = [typeOf(property), need, description].map((text) => `<td>${escapeUTF8(String(text))}</td>`)
    return `<tr><td><code>${escapeUTF8(name)}</code></td>${cells.join('')}</tr>`
  })
  return `<table><tr><th>argument</th><th>type</th><th>default</th><th></th></tr>${rows.join('')}</table>`
}

/** The type of an argument for people: `string`, `"open" | "closed"`, `string | array`, `any`. */
function typeOf(schema: Json): string {
  const { type, enum: values, const: value, anyOf, oneOf } = Object(schema)
  const choices = anyOf ?? oneOf
  if (Array.isArray(values)) return values.map((each) => JSON.stringify(each)).join(' | ')
  if (value !== undefined) return JSON.stringify(value)
  if (Array.isArray(choices)) return [...new Set(choices.map(typeOf))].join(' | ')
  return [type ?? 'any'].flat().join(' | ')
}
