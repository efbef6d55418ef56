import { type RefCallback, useEffect, useState } from 'react';

const BOTTOM = 12;
const LEAST = 420;

/** The height that is left below where the element begins, so that panes scroll and the page does not. */
export function useFill<T extends HTMLElement>(): [RefCallback<T>, number | undefined] {
  const [element, setElement] = useState<T | null>(null);
  const [height, setHeight] = useState<number>();
  useEffect(() => {
    if (!element) return undefined;
    const measure = () => {
      setHeight(Math.max(LEAST, window.innerHeight - element.getBoundingClientRect().top - window.scrollY - BOTTOM));
    };
    // The observer speaks once at the beginning, and whenever the frame around the page changes.
    const observer = new ResizeObserver(measure);
    observer.observe(document.documentElement);
    if (element.parentElement) observer.observe(element.parentElement);
    window.addEventListener('resize', measure);
    return () => {
      observer.disconnect();
      window.removeEventListener('resize', measure);
    };
  }, [element]);
  return [setElement, height];
}
