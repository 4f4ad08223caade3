"use client";

// Other people's HTML as text: it is parsed in a document apart, where nothing runs or loads, and only its words,
// paragraphs, lists and links are rebuilt on the page.

import { Fragment, useMemo, type ReactNode } from "react";
import { Out } from "@/components/Links";

const DEEPEST = 40;

const BLOCKS =
  "p div section article header footer main aside nav figure figcaption caption blockquote pre hr table thead tbody " +
  "tfoot tr th td ul ol li dl dt dd h1 h2 h3 h4 h5 h6 address form fieldset";
const INLINE = "br b strong i em u s code sub sup small mark del ins span a img abbr cite q";
const IS_BLOCK = new Set(BLOCKS.split(" "));
// A text without one of these tags is not HTML: "a < b & c" stays as it is.
const IS_HTML = new RegExp(`</?(?:${`${BLOCKS} ${INLINE}`.replaceAll(" ", "|")})(?:\\s[^<>]*|/)?>`, "i");
const SILENT = new Set("script style template noscript iframe object embed svg math head title".split(" "));

/** A description: sanitised HTML, or plain text. */
export function Prose({ text }: { text: string }) {
  const content = useMemo(() => (IS_HTML.test(text) ? fromHtml(text) : fromText(text)), [text]);
  return (
    <div dir="auto" className="flex max-w-prose flex-col gap-3 wrap-anywhere">
      {content}
    </div>
  );
}

function fromText(text: string): ReactNode {
  return text
    .split(/\n\s*\n/)
    .filter((part) => part.trim())
    .map((part, index) => (
      <p key={index} className="whitespace-pre-line">
        {part.trim()}
      </p>
    ));
}

function fromHtml(html: string): ReactNode {
  return flow(new DOMParser().parseFromString(bare(html), "text/html").body, 0);
}

/** Without what the page's policy forbids: it has no effect in a document apart, but is reported. */
function bare(html: string): string {
  return html
    .replace(/<(style|script|svg|math|template|iframe)\b[\s\S]*?(?:<\/\1\s*>|$)/gi, "")
    .replace(/<([a-z][^\s<>/]*)[\s/][^<>]*>/gi, (tag: string, name: string) => {
      const kept = tag.match(/\s(?:href|alt)=(?:"[^"]*"|'[^']*')/gi) ?? [];
      return `<${name}${kept.join("")}>`;
    });
}

/** Blocks below each other; what stands between them becomes paragraphs. */
function flow(parent: Node, depth: number): ReactNode[] {
  const blocks: ReactNode[] = [];
  let line: Node[] = [];
  const endLine = () => {
    if (line.some((node) => node.textContent?.trim() || isShown(node))) {
      blocks.push(<p key={blocks.length}>{line.map((node, index) => inline(node, index, depth))}</p>);
    }
    line = [];
  };
  for (const node of parent.childNodes) {
    if (node instanceof Element && isBlock(node)) {
      endLine();
      const made = block(node, depth + 1);
      if (made) blocks.push(<Fragment key={blocks.length}>{made}</Fragment>);
    } else {
      line.push(node);
    }
  }
  endLine();
  return blocks;
}

function isBlock(element: Element): boolean {
  // a link or a bold text around paragraphs is laid out as what it holds
  return IS_BLOCK.has(element.localName) || element.querySelector("p, div, ul, ol, table, h2, h3, h4") !== null;
}

function isShown(node: Node): boolean {
  return node instanceof HTMLImageElement && Boolean(node.alt);
}

function block(element: Element, depth: number): ReactNode {
  if (depth > DEEPEST) return <p>{element.textContent}</p>;
  switch (element.localName) {
    case "hr":
      return null;
    case "ul":
    case "ol":
      return list(element, depth);
    case "pre":
      return <pre className="overflow-x-auto whitespace-pre-wrap">{element.textContent}</pre>;
    case "blockquote":
      return (
        <blockquote className="flex flex-col gap-3 border-s-4 border-line ps-4">{flow(element, depth)}</blockquote>
      );
    case "tr":
      return row(element, depth);
    case "h1":
    case "h2":
    case "h3":
    case "h4":
    case "h5":
    case "h6":
    case "dt":
    case "caption": // no headings: they would break the order of the page's own
      return <div className="flex flex-col gap-3 font-semibold">{flow(element, depth)}</div>;
    default:
      return <>{flow(element, depth)}</>;
  }
}

function list(element: Element, depth: number): ReactNode {
  const items = [...element.children].map((item, index) => (
    <li key={index}>
      <div className="flex flex-col gap-2">{item.localName === "li" ? flow(item, depth) : block(item, depth + 1)}</div>
    </li>
  ));
  if (items.length === 0) return null;
  return element.localName === "ol" ? (
    <ol className="flex list-decimal flex-col gap-1 ps-6">{items}</ol>
  ) : (
    <ul className="flex list-disc flex-col gap-1 ps-6">{items}</ul>
  );
}

function row(element: Element, depth: number): ReactNode {
  return (
    <div className="flex flex-wrap gap-x-6">
      {[...element.children].map((cell, index) => (
        <div key={index}>{flow(cell, depth)}</div>
      ))}
    </div>
  );
}

function inline(node: Node, key: number, depth: number): ReactNode {
  if (node instanceof Text) return node.data;
  if (!(node instanceof Element) || SILENT.has(node.localName)) return null;
  if (depth > DEEPEST) return node.textContent;
  const within = () => [...node.childNodes].map((child, index) => inline(child, index, depth + 1));
  switch (node.localName) {
    case "br":
      return <br key={key} />;
    case "img":
      return isShown(node) ? <Fragment key={key}>[{(node as HTMLImageElement).alt}]</Fragment> : null;
    case "a":
      return node.textContent?.trim() ? (
        <Out key={key} url={node.getAttribute("href") ?? ""}>
          {within()}
        </Out>
      ) : null;
    case "b":
    case "strong":
      return <strong key={key}>{within()}</strong>;
    case "i":
    case "em":
    case "cite":
      return <em key={key}>{within()}</em>;
    case "code":
      return <code key={key}>{within()}</code>;
    case "sub":
      return <sub key={key}>{within()}</sub>;
    case "sup":
      return <sup key={key}>{within()}</sup>;
    default:
      return <Fragment key={key}>{within()}</Fragment>;
  }
}
