#ifndef FERRY_LOADGEN_REPORT_STYLE_H_
#define FERRY_LOADGEN_REPORT_STYLE_H_

namespace ferry {

// The style sheet of the HTML report. Its colors are told apart by people who do not see all of them, on light and on dark.
inline constexpr char kReportStyle[] = R"(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #59636e; --back: #ffffff; --box: #f5f7f9; --line: #d5dbe1;
  --good: #1a7f37; --bad: #b42318; --c0: #0072b2; --c1: #c04f00; --c2: #007a5a; --c3: #a0387a; --c4: #6d6a00; --c5: #444c56; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e8ec; --soft: #9ba6b1; --back: #14181c; --box: #1d2329; --line: #38424c; --good: #4ac26b;
    --bad: #ff8177; --c0: #5db4e8; --c1: #f0904a; --c2: #35c59a; --c3: #e08cc0; --c4: #cfc94a; --c5: #b7c0c9; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 16px; color: var(--text); background: var(--back);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6em; line-height: 1.2; margin: .3em 0; } h2 { font-size: 1.25em; margin: 1.6em 0 .5em; }
h3 { font-size: 1em; margin: 1.2em 0 .4em; } p { margin: .4em 0; } .soft { color: var(--soft); }
.verdict { border-left: 6px solid var(--good); background: var(--box); padding: 10px 14px; margin: 12px 0; }
.verdict.bad { border-color: var(--bad); } .verdict p:first-child { font-size: 1.15em; font-weight: 600; margin-top: 0; }
.bad-text { color: var(--bad); font-weight: 600; }
.scroll { overflow-x: auto; margin: 8px 0; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 8px; font-size: .95em; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.text { text-align: left; white-space: normal; min-width: 16em; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); gap: 16px; }
figure { margin: 0; min-width: 0; border: 1px solid var(--line); padding: 10px; break-inside: avoid; }
figcaption { font-weight: 600; margin-bottom: 4px; } svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 15px; } svg text.axis { font-size: 15px; }
svg .grid { stroke: var(--line); } svg line.axis { stroke: var(--soft); }
svg .line { fill: none; stroke: currentColor; stroke-width: 2; } svg circle { fill: currentColor; stroke: none; }
svg .dashed { stroke-dasharray: 6 4; }
.c0 { color: var(--c0); } .c1 { color: var(--c1); } .c2 { color: var(--c2); } .c3 { color: var(--c3); }
.c4 { color: var(--c4); } .c5 { color: var(--c5); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 4px 0 0; padding: 0; font-size: .9em; }
.legend li::before { content: ""; display: inline-block; width: 20px; margin-right: 6px; vertical-align: middle;
  border-top: 3px solid currentColor; } .legend li.dashed::before { border-top-style: dashed; }
.bars { display: grid; grid-template-columns: max-content 1fr max-content; gap: 3px 10px; align-items: center; }
.bars > :nth-child(3n+1) { text-align: right; color: var(--soft); } .bars > :nth-child(3n) { color: var(--soft); }
.bar { height: 14px; background: currentColor; min-width: 2px; } .stack { display: flex; height: 18px; }
.stack span { background: currentColor; display: block; }
details { margin: 10px 0; } summary { cursor: pointer; } pre { background: var(--box); padding: 10px; overflow-x: auto;
  overflow-wrap: normal; font-size: .85em; }
@media print { body { max-width: none; } details::details-content { content-visibility: visible; } }
)";

}  // namespace ferry

#endif  // FERRY_LOADGEN_REPORT_STYLE_H_
