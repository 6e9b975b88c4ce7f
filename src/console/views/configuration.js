import { call, invoke } from '../lib/api.js'
import { Diff, Yaml } from '../lib/code.js'
import { around, diffOf } from '../lib/diff.js'
import { FailedReload } from '../lib/failed-reload.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, act, ask, Badge, Copy, Facts, Moment, span, useLoaded, Wait, Words } from '../lib/parts.js'
import { link, replace } from '../lib/router.js'
import { What } from './audit-parts.js'
import { Changes } from './changes.js'
import { RoutePage } from './route.js'
import { RouteTable } from './routes.js'

/** The configuration: routes.yaml as loaded, and the last reload; or one of its routes. */
export function ConfigurationPage({ path: [route], query }) {
  return route === undefined
    ? html`<${AllPage} query=${query} />`
    : html`<${RoutePage} key=${route} name=${route} query=${query} />`
}

function AllPage({ query }) {
  const { at = 0, ok } = now.value?.configuration ?? {}
  const loaded = useLoaded((signal) => call('GET', '/v1/configuration', undefined, signal), [at, ok])
  const { value, reload } = loaded
  const readAgain = async () => {
    const isYes = await ask({
      title: 'Reload the configuration and the skills?',
      body: 'A valid configuration takes effect immediately. An invalid one changes nothing.',
      action: 'Reload',
    })
    if (!isYes) return
    await act(async () => {
      await call('POST', '/v1/reload', {})
      return 'The configuration was reloaded.'
    })
    reload()
  }
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Configuration</h1>
      <div class="buttons"><button changes type="button" onClick=${readAgain}>Reload …</button></div></header>
    <${Wait} of=${loaded} what="the configuration" />
    ${value && html`<${Shown} configuration=${value} query=${query} />`}
  </section>`
}

function Shown({ configuration, query }) {
  const { show: what = 'file', file: wantedFile, line } = query
  const { file, envFile, files, variables, inForce, warnings, reload, previous } = configuration
  const tabs = [
    ['file', files.length > 1 ? 'Files' : 'File'],
    ['change', 'Changes'],
    ['routes', 'Routes'],
  ]
  // The table needs the whole width.
  const isWide = what === 'routes'
  return html`
    <${FailedReload} of=${reload} />
    <div class=${`columns configuration ${isWide ? 'is-wide' : ''}`}>
      <div>
        <p class="segments" role="group" aria-label="What is shown">${tabs.map(([name, title]) => html`<button key=${name} type="button" aria-pressed=${what === name} onClick=${() => replace('configuration', name === 'file' ? {} : { show: name })}>${title}</button>`)}</p>
        ${what === 'file' && html`<${Files} files=${files} warnings=${warnings} readAt=${reload.goodAt} changedAt=${previous?.until} wanted=${line && { file: wantedFile, line: Number(line) }} />`}
        ${what === 'change' && html`<${Change} files=${files} previous=${previous} since=${configuration.countedSince} /><${History} of=${reload.at} />`}
        ${what === 'routes' && html`<${RouteTable} configuration=${configuration} query=${query} set=${(change) => replace('configuration', { ...query, ...change })} />`}
      </div>
      <div>
        ${warnings.length > 0 && html`<h2>Warnings</h2><ul class="plain">${warnings.map(({ file, line, message }) => html`<li key=${file + line + message}><${WarningPlace} ...${{ file, line, isOne: files.length === 1 }} /> <${Words} text=${message} /></li>`)}</ul>`}
        <h2>In force</h2>
        <${Facts} of=${{ file: html`<code>${file}</code>`, variables: html`<code>${envFile}</code>, or the environment of the daemon`, ...factsOf(inForce) }} />
        <h2>Variables</h2>
        ${variables.length === 0 && html`<p class="dim">The file names none.</p>`}
        <ul class="plain">${variables.map(
          ({ name, isSet, optional, usedIn = [] }) =>
            html`<li key=${name}><code>${name}</code> <${Badge} kind=${isSet ? 'good' : optional ? 'dim' : 'bad'}>${isSet ? 'set' : optional ? 'default' : 'not set'}<//> ${usedIn.map((place) => html`<${UsedIn} key=${place} place=${place} /> `)}</li>`,
        )}</ul>
        <h2>Control token</h2>
        <p class="dim">Replace it if somebody has seen it. It ends at once, and everyone else is signed out.</p>
        <p class="buttons"><button changes type="button" class="danger" onClick=${rotateToken}>Replace the control token …</button></p>
      </div>
    </div>`
}

/** The line of a warning, as a link to it. */
function WarningPlace({ file, line, isOne }) {
  if (!line) return html`<${Badge} kind="warn">note<//>`
  const query = { line, ...(!isOne && { file }) }
  return html`<a class="badge warn" href=${link('configuration', query)}>${isOne ? 'line ' : `${file}:`}${line}</a>`
}

/** Where a variable is used, such as `gateways.shop`. */
function UsedIn({ place }) {
  const [, gateway] = /^gateways\.(.+)$/.exec(place) ?? []
  return gateway
    ? html`<a href=${link(['gateways', gateway])}>${gateway}</a>`
    : html`<span class="dim">${place}</span>`
}

async function rotateToken() {
  const title = 'Replace the control token?'
  const body =
    'The old one ends at once. Everyone else is signed out here, also those who signed in at the provider, and programs that send it get 401 until they have the new one. It is written to its file, and not shown here.'
  if (!(await ask({ title, body, action: 'Replace', danger: true }))) return
  await act(async () => {
    const { file } = await call('POST', '/v1/control-token')
    return `The new control token is in ${file}.`
  })
}

/** `wanted`: a line of a file to show, as in the address. */
function Files({ files, warnings, readAt, changedAt, wanted }) {
  const isIn = (file, name) => files.length === 1 || file === name
  const linesIn = (name) => warnings.flatMap(({ file, line }) => (line && isIn(file, name) ? [line] : []))
  return html`<p class="dim">Read <${Age} at=${readAt} /> ago${changedAt && html`, in force since <${Moment} at=${changedAt} />`}. Variables are shown by name; other secrets are masked.</p>
    ${files.map(
      ({ file, yaml }) => html`<section key=${file}><h2 class="file-name">${file}</h2>
      <${Yaml} text=${yaml} label=${`${files.length > 1 ? file : 'routes.yaml'} as read`} marked=${linesIn(file)} wanted=${wanted && isIn(wanted.file, file) ? wanted.line : undefined} />
      <div class="buttons after"><${Copy} text=${yaml} /></div></section>`,
    )}`
}

/** The last change, by file. The daemon keeps the version before it in memory. */
function Change({ files, previous, since }) {
  if (!previous)
    return html`<p class="dim">Nothing has changed since the daemon started <${Age} at=${since} /> ago.</p>`
  const { files: before } = previous
  const names = [...new Set([...before, ...files].map(({ file }) => file))]
  const textOf = (all, name) => all.find(({ file }) => file === name)?.yaml ?? ''
  const changed = names.filter((name) => textOf(before, name) !== textOf(files, name))
  return html`<p class="dim">What was in force from <${Moment} at=${previous.at} />, against what is since <${Moment} at=${previous.until} />.</p>
    ${changed.map((name) => html`<section key=${name}><h2 class="file-name">${name}</h2><${Diff} label=${`Changes of ${name}`} lines=${around(diffOf(textOf(before, name), textOf(files, name)))} /></section>`)}`
}

/** Maximum number of earlier changes that are shown; the audit log has the others. */
const MAX_CHANGES = 20

/** The changes in the audit log, newest first, with each setting before and after. */
function History({ of }) {
  const loaded = useLoaded(
    (signal) => invoke('audit-list', { action: 'configuration-change', limit: MAX_CHANGES }, signal),
    [of],
  )
  const entries = loaded.value?.entries ?? []
  return html`<h2>History</h2><${Wait} of=${loaded} what="the history" />
    ${loaded.value && entries.length === 0 && html`<p class="dim">The audit log has no change.</p>`}
    ${entries.map(
      (entry) => html`<section key=${entry.id} class="configuration-change" aria-label="Change">
      <p><a href=${link(['audit', entry.id])}><${Moment} at=${entry.at} /></a> <${What} of=${entry} /> ${entry.status !== 'done' && html`<${Badge} kind="bad">not applied<//> <span class="error">${entry.error}</span>`}</p>
      ${entry.changes && html`<${Changes} of=${entry.changes} label="Settings" />`}</section>`,
    )}
    ${loaded.value?.next !== undefined && html`<p><a href=${link('audit', { action: 'configuration-change' })}>All changes</a></p>`}`
}

function factsOf({ dataDir, listen, controlListen, publicUrl, retention, grace, drainDelay }) {
  const { journal, deadLetters, gateways } = retention
  return {
    'data directory': dataDir,
    listens: address(listen),
    'control API': address(controlListen),
    'public address': publicUrl,
    'messages kept': `${span(journal.maxAge)}, at most ${journal.maxCount.toLocaleString('en')}`,
    ...Object.fromEntries(
      Object.entries(gateways).map(([name, { maxAge }]) => [`… of ${name}`, maxAge && span(maxAge)]),
    ),
    'dead letters kept': deadLetters.toLocaleString('en'),
    'grace at a stop': span(grace),
    'drain delay': drainDelay > 0 ? span(drainDelay) : undefined,
  }
}

function address({ host, port }) {
  return `${host}:${port}`
}
