SELECT id, price * quantity AS amount, UPPER(note) FROM orders WHERE paid AND price BETWEEN 1 AND 100;
SELECT DISTINCT customer FROM orders;
SELECT customer, COUNT(*) AS n, SUM(price) FILTER (WHERE paid) AS total FROM orders GROUP BY customer HAVING COUNT(*) > 2;
SELECT customer, note, COUNT(*) FROM orders GROUP BY GROUPING SETS ((customer, note), (customer), ());
SELECT window_start, window_end, customer, SUM(price)
FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' MINUTE))
GROUP BY window_start, window_end, customer;
SELECT window_start, COUNT(DISTINCT customer)
FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '1' HOUR)) GROUP BY window_start, window_end;
SELECT window_start, MAX(price)
FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY)) GROUP BY window_start, window_end;
SELECT customer, SESSION_START(ts, INTERVAL '1' MINUTE), COUNT(*) FROM orders GROUP BY customer, SESSION(ts, INTERVAL '1' MINUTE);
SELECT o.id, c.name FROM orders AS o LEFT JOIN customers AS c ON o.customer = c.id;
SELECT o.id, p.id FROM orders AS o JOIN orders AS p ON o.id = p.customer AND o.ts BETWEEN p.ts - INTERVAL '1' HOUR AND p.ts;
SELECT o.id, o.price * r.rate FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency;
SELECT * FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY price DESC) AS rank_of FROM orders
) WHERE rank_of <= 3;
SELECT id, SUM(price) OVER (PARTITION BY customer ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)
FROM orders;
SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE city = 'Ulm');
SELECT id FROM orders AS o WHERE NOT EXISTS (SELECT 1 FROM customers AS c WHERE c.id = o.customer);
SELECT id FROM orders WHERE price > (SELECT AVG(price) FROM orders);
SELECT o.id, t.tag FROM orders AS o CROSS JOIN UNNEST(o.tags) AS t(tag);
WITH big AS (SELECT * FROM orders WHERE price > 100) SELECT customer, COUNT(*) FROM big GROUP BY customer;
SELECT id FROM orders UNION ALL SELECT id FROM customers;
SELECT id FROM orders INTERSECT SELECT id FROM customers;
SELECT id FROM customers EXCEPT SELECT customer FROM orders;
SELECT address.city, tags[1], extra['k'], CARDINALITY(tags) FROM orders;
SELECT CAST(price AS STRING), TRY_CAST(note AS INT), CASE WHEN paid THEN 1 ELSE 0 END, COALESCE(note, '') FROM orders;
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(n, s) ORDER BY n LIMIT 1;
INSERT INTO totals SELECT customer, SUM(price) FROM orders GROUP BY customer;
INSERT INTO journal SELECT id, quantity FROM orders
